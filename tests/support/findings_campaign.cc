#include "tests/support/findings_campaign.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "readers/ingest.h"
#include "simulate/random.h"
#include "simulate/training.h"
#include "tests/support/json_value.h"

namespace telltale::test {
namespace {

using collectives::Finding;
using collectives::FindingKind;
using simulate::TrainingOptions;

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(simulate::Mix(seed ^ 0x5eed)) {}
  uint64_t Below(uint64_t bound) {
    state_ = simulate::Mix(state_);
    return (state_ >> 11) % bound;
  }
  double Unit() { return static_cast<double>(Below(1 << 20)) / (1 << 20); }
  template <typename T, size_t N>
  const T& Of(const std::array<T, N>& choices) {
    return choices[Below(N)];
  }

 private:
  uint64_t state_;
};

struct Shape {
  uint32_t ranks, tensor, pipeline, expert;
};

// Every network communicator of a job with one stage spans all of its hosts; with several stages, a
// host, a link and the network can be told apart.
constexpr std::array<Shape, 8> kOneStage = {{{8, 4, 1, 1},
                                             {16, 8, 1, 1},
                                             {16, 4, 1, 1},
                                             {32, 8, 1, 1},
                                             {64, 8, 1, 1},
                                             {128, 8, 1, 1},
                                             {256, 8, 1, 1},
                                             {512, 8, 1, 1}}};
constexpr std::array<Shape, 6> kStages = {
    {{32, 8, 2, 1}, {64, 8, 2, 1}, {64, 8, 4, 1}, {128, 8, 4, 1}, {256, 8, 4, 1}, {512, 8, 8, 1}}};

TrainingOptions OptionsOf(const Shape& shape, uint64_t seed) {
  TrainingOptions options;
  options.ranks = shape.ranks;
  options.tensor_parallel = shape.tensor;
  options.pipeline_parallel = shape.pipeline;
  options.expert_parallel = shape.expert;
  options.layers = 2 * shape.pipeline;
  options.micro_batches = shape.pipeline > 1 ? shape.pipeline : 2;
  options.hidden_size = 8192;
  options.steps = shape.ranks <= 64 ? 40 : shape.ranks <= 128 ? 24 : 16;
  options.interval_ms = 50;  // so short that the rings of a healthy job lose nothing
  options.seed = seed;
  options.threads = 2;
  return options;
}

Shape Choose(Dice& dice, bool stages, uint32_t most_ranks) {
  for (;;) {
    const Shape shape =
        stages ? dice.Of(kStages) : (dice.Below(2) == 0 ? dice.Of(kStages) : dice.Of(kOneStage));
    if (shape.ranks <= most_ranks || (stages && shape.ranks == 32)) return shape;
  }
}

std::string Span(Dice& dice, bool must_start_late) {
  if (!must_start_late && dice.Below(3) == 0) return "";  // all the time
  const double from = 0.2 + 0.3 * dice.Unit();
  const double to = dice.Below(2) == 0 ? 1 : std::min(1.0, from + 0.3 + 0.2 * dice.Unit());
  return fmt::format(",from={:.2f},to={:.2f}", from, to);
}

void Add(Campaign& campaign, const std::string& text) {
  auto fault = simulate::ParseFault(text);
  if (fault) campaign.options.faults.push_back(*fault);
}

double Severity(Dice& dice) {
  constexpr std::array<double, 3> kSeverities = {1.2, 1.5, 3};
  return dice.Of(kSeverities);
}

// Bytes of a bucket over the slowest link, at 45 GB/s.
double BucketMs(const TrainingOptions& options) {
  const double layers = static_cast<double>(options.layers) / options.pipeline_parallel;
  const double total =
      12.0 * options.hidden_size * options.hidden_size * layers / options.tensor_parallel * 2;
  const double data =
      static_cast<double>(options.ranks) / options.tensor_parallel / options.pipeline_parallel;
  const double per_host =
      std::max(1.0, static_cast<double>(options.gpus_per_host) / options.tensor_parallel);
  const bool network = options.ranks > options.gpus_per_host;
  const double speed = network ? 45e6 * per_host : 360e6;
  return std::min<double>(total, static_cast<double>(options.bucket_bytes)) * (data - 1) / data /
         speed;
}

uint32_t DataParallel(const TrainingOptions& options) {
  return options.ranks / options.tensor_parallel / options.pipeline_parallel;
}

uint32_t Hosts(const TrainingOptions& options) {
  return (options.ranks - 1) / options.gpus_per_host + 1;
}

void AddLate(Campaign& campaign, Dice& dice, double severity) {
  const auto rank = static_cast<uint32_t>(dice.Below(campaign.options.ranks));
  Add(campaign, fmt::format("late-rank:rank={},ms={:.3f}{}", rank,
                            (severity - 1) * BucketMs(campaign.options), Span(dice, false)));
}

void AddSlowCommunicator(Campaign& campaign, Dice& dice, double severity) {
  const TrainingOptions& options = campaign.options;
  std::vector<std::string> names;
  const uint32_t model = options.tensor_parallel * options.pipeline_parallel;
  const auto add = [&](const char* name, uint32_t count, uint32_t size) {
    if (size > 1 && count > 1) names.push_back(fmt::format("{} {}", name, dice.Below(count)));
  };
  add("TP Group", options.ranks / options.tensor_parallel, options.tensor_parallel);
  add("DP Group", model, DataParallel(options));
  add("PP Group", options.ranks / options.pipeline_parallel, options.pipeline_parallel);
  const std::string name = names[dice.Below(names.size())];
  Add(campaign, fmt::format("slow-link:comm={},factor={}{}", name, severity, Span(dice, false)));
}

// Two hosts of neighbouring stages have nothing in common but the transfers between their ranks.
void AddSlowHostLink(Campaign& campaign, Dice& dice, double severity) {
  const uint32_t hosts = Hosts(campaign.options);
  const uint32_t per_stage = hosts / campaign.options.pipeline_parallel;
  const auto one = static_cast<uint32_t>(dice.Below(hosts - per_stage));
  const uint32_t other = one + per_stage;
  Add(campaign,
      fmt::format("slow-link:hosts={}-{},factor={}{}", one, other, severity, Span(dice, false)));
}

void AddSlowHost(Campaign& campaign, Dice& dice, double severity) {
  const uint32_t hosts = Hosts(campaign.options);
  const auto host = static_cast<uint32_t>(dice.Below(hosts));
  Add(campaign, fmt::format("slow-host:host={},factor={}{}", host, severity, Span(dice, false)));
}

void AddJitter(Campaign& campaign, Dice& dice) {
  const TrainingOptions& options = campaign.options;
  constexpr std::array<int, 3> kPercent = {10, 20, 40};
  const int percent = dice.Of(kPercent);
  if (options.tensor_parallel == options.gpus_per_host && dice.Below(2) == 0) {
    const auto host = static_cast<uint32_t>(dice.Below(Hosts(options)));
    Add(campaign, fmt::format("jitter:host={},percent={}{}", host, percent, Span(dice, false)));
  } else {
    const auto rank = static_cast<uint32_t>(dice.Below(options.ranks));
    Add(campaign, fmt::format("jitter:rank={},percent={}{}", rank, percent, Span(dice, false)));
  }
}

void AddLoss(Campaign& campaign, Dice& dice) {
  if (dice.Below(2) == 0) {
    campaign.options.interval_ms = 250;
    Add(campaign, fmt::format("ring-loss:ring={}", 8 << dice.Below(3)));
  } else {
    const auto rank = static_cast<uint32_t>(dice.Below(campaign.options.ranks));
    Add(campaign, fmt::format("missing-rank-file:rank={}", rank));
  }
}

// The finding that a fault of the simulator must give; none for what is no fault of the job.
std::optional<FindingKind> KindOfFault(const std::string& name) {
  static const std::map<std::string, FindingKind> kKinds = {
      {"late-rank", FindingKind::kLateRank},     {"slow-link", FindingKind::kSlowLink},
      {"slow-host", FindingKind::kSlowHost},     {"congestion", FindingKind::kCongestion},
      {"jitter", FindingKind::kJitter},          {"ring-loss", FindingKind::kLoss},
      {"missing-rank-file", FindingKind::kLoss},
  };
  const auto at = kKinds.find(name);
  return at == kKinds.end() ? std::nullopt : std::optional(at->second);
}

bool SamePlace(const Expected& expected, const Finding& finding) {
  const auto& where = finding.where;
  if (expected.global_rank >= 0) return where.global_rank == expected.global_rank;
  if (!expected.communicator.empty())
    return where.communicator == expected.communicator && where.other_host.empty();
  if (!expected.other_host.empty()) {
    return std::minmax(where.host, where.other_host) ==
           std::minmax(expected.host, expected.other_host);
  }
  return expected.host.empty() || where.host == expected.host;
}

void Compare(bool loses_records, Outcome& outcome) {
  std::vector<bool> used(outcome.findings.findings.size());
  for (const Expected& expected : outcome.truth.faults) {
    Score& score = outcome.scores[expected.kind];
    if (!expected.happened) {
      ++score.did_not_happen;
      continue;
    }
    int same_kind = -1;
    int found = -1;
    for (size_t i = 0; i < used.size(); ++i) {
      const Finding& finding = outcome.findings.findings[i];
      if (used[i] || finding.kind != expected.kind) continue;
      same_kind = static_cast<int>(i);
      if (SamePlace(expected, finding)) found = static_cast<int>(i);
    }
    if (found >= 0) {
      ++score.right;
      used[static_cast<size_t>(found)] = true;
    } else if (same_kind >= 0) {
      ++score.wrong_place;
      used[static_cast<size_t>(same_kind)] = true;
      outcome.all_right = false;
    } else {
      ++score.missed;
      outcome.all_right = false;
    }
  }
  for (size_t i = 0; i < used.size(); ++i) {
    const FindingKind kind = outcome.findings.findings[i].kind;
    // That something was lost is true of other jobs, too; who lost it must be true.
    const bool names_rank = outcome.findings.findings[i].where.rank.has_value();
    if (used[i] || (kind == FindingKind::kLoss && loses_records && !names_rank)) continue;
    ++outcome.scores[kind].false_alarms;
    outcome.all_right = false;
  }
}

// Takes out lines at random, as a lossy copy or a full disk would.
void DropLines(const std::string& folder, double part, uint64_t seed) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    std::string kept;
    std::string line;
    Dice dice(seed ^ std::hash<std::string>{}(entry.path().filename().string()));
    while (std::getline(in, line)) {
      if (dice.Unit() >= part) kept += line + "\n";
    }
    in.close();
    std::ofstream(entry.path(), std::ios::trunc) << kept;
  }
}

}  // namespace

Score& Score::operator+=(const Score& other) {
  right += other.right;
  wrong_place += other.wrong_place;
  missed += other.missed;
  false_alarms += other.false_alarms;
  did_not_happen += other.did_not_happen;
  return *this;
}
double Score::Precision() const {
  const uint64_t all = right + wrong_place + false_alarms;
  return all == 0 ? 1 : static_cast<double>(right) / static_cast<double>(all);
}
double Score::Recall() const {
  const uint64_t all = right + wrong_place + missed;
  return all == 0 ? 1 : static_cast<double>(right) / static_cast<double>(all);
}
double Score::PlaceAccuracy() const {
  const uint64_t all = right + wrong_place;
  return all == 0 ? 1 : static_cast<double>(right) / static_cast<double>(all);
}

Result<Truth> ReadTruth(const std::string& path) {
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto json = ParseJson(text);
  if (!json) return Fail("{}: not the simulator's truth", path);
  const auto number = [](const JsonValue& object, const char* name) {
    const JsonValue* value = object.Find(name);
    return value == nullptr ? 0 : std::strtoull(value->text.c_str(), nullptr, 10);
  };
  const auto string = [](const JsonValue& object, const char* name) {
    const JsonValue* value = object.Find(name);
    return value == nullptr ? std::string() : value->text;
  };
  Truth truth;
  const JsonValue& lost = *json->Find("lost");
  const uint64_t overwritten = number(lost, "overwritten");
  truth.lost = overwritten + number(lost, "last_interval") + number(lost, "missing_file");
  for (const JsonValue& fault : json->Find("faults")->items) {
    const auto kind = KindOfFault(fault["kind"]);
    if (!kind) continue;
    Expected expected;
    expected.kind = *kind;
    const JsonValue& place = *fault.Find("place");
    if (place.Find("global_rank") != nullptr) {
      expected.global_rank = static_cast<int64_t>(number(place, "global_rank"));
    } else {
      expected.host = string(place, "hostname");
      expected.other_host = string(place, "other_hostname");
      expected.communicator = string(place, "communicator");
    }
    expected.happened = expected.kind == FindingKind::kLoss
                            ? truth.lost > 0
                            : !fault.Find("affected")->items.empty();
    truth.faults.push_back(std::move(expected));
  }
  return truth;
}

uint64_t Outcome::Culprits() const {
  return static_cast<uint64_t>(
      std::count_if(findings.findings.begin(), findings.findings.end(),
                    [](const Finding& finding) { return finding.kind != FindingKind::kLoss; }));
}

std::string Campaign::Name() const {
  std::string name = fmt::format("seed {} ranks {} tp {} pp {}", options.seed, options.ranks,
                                 options.tensor_parallel, options.pipeline_parallel);
  for (const simulate::Fault& fault : options.faults) name += " | " + fault.text;
  if (drop > 0) name += fmt::format(" | drop {:.0f} %", 100 * drop);
  return name;
}

Campaign MakeCampaignOf(const std::string& kind, uint64_t seed, uint32_t most_ranks) {
  Dice dice(seed);
  Campaign campaign;
  const bool hosts_matter = kind == "slow_host" || (kind == "slow_link" && dice.Below(3) == 0);
  const Shape shape = Choose(dice, hosts_matter, most_ranks);
  campaign.options = OptionsOf(shape, seed);
  const double severity = Severity(dice);
  if (kind == "late_rank") {
    // Somebody must wait: the data-parallel groups have at least two ranks.
    if (DataParallel(campaign.options) < 2) campaign.options = OptionsOf({16, 8, 1, 1}, seed);
    AddLate(campaign, dice, severity);
  } else if (kind == "slow_link") {
    hosts_matter&& campaign.options.pipeline_parallel < Hosts(campaign.options)
        ? AddSlowHostLink(campaign, dice, severity)
        : AddSlowCommunicator(campaign, dice, severity);
  } else if (kind == "slow_host") {
    AddSlowHost(campaign, dice, severity);
  } else if (kind == "congestion") {
    if (Hosts(campaign.options) < 2) campaign.options = OptionsOf({32, 8, 1, 1}, seed);
    Add(campaign, fmt::format("congestion:factor={}{}", severity, Span(dice, true)));
  } else if (kind == "jitter") {
    AddJitter(campaign, dice);
  } else if (kind == "loss") {
    AddLoss(campaign, dice);
  } else if (kind == "two") {
    if (DataParallel(campaign.options) < 2) campaign.options = OptionsOf({32, 8, 1, 1}, seed);
    AddLate(campaign, dice, Severity(dice));
    dice.Below(2) == 0 ? AddSlowCommunicator(campaign, dice, Severity(dice))
                       : AddJitter(campaign, dice);
  }
  // Clocks that are off, and records that are lost.
  if (dice.Below(2) == 0) {
    Add(campaign, fmt::format("clock-offset:host={},ms={}", dice.Below(Hosts(campaign.options)),
                              static_cast<int>(dice.Below(2001)) - 1000));
  }
  if (kind != "loss" && dice.Below(2) == 0) {
    campaign.drop = 0.1 + 0.4 * dice.Unit();
  }
  return campaign;
}

Campaign MakeCampaign(uint64_t number, uint64_t seed, uint32_t most_ranks) {
  constexpr std::array<const char*, 12> kKinds = {
      "healthy", "late_rank", "slow_link", "healthy", "slow_host", "congestion",
      "healthy", "jitter",    "loss",      "healthy", "two",       "slow_link"};
  constexpr uint64_t kMostJobs = 1'000'000;
  return MakeCampaignOf(kKinds[number % kKinds.size()], seed * kMostJobs + number, most_ranks);
}

Result<Outcome> RunCampaign(const Campaign& campaign, const std::string& folder) {
  Outcome outcome;
  TrainingOptions options = campaign.options;
  options.directory = folder + "/job";
  options.truth_path = folder + "/job.truth.json";
  options.force = true;
  const std::string store_path = folder + "/store.duckdb";
  std::filesystem::remove_all(options.directory);
  std::filesystem::remove(store_path);
  TELLTALE_ASSIGN(const auto summary, simulate::SimulateTraining(options));
  TELLTALE_ASSIGN(outcome.truth, ReadTruth(options.truth_path));
  if (campaign.drop > 0) DropLines(options.directory, campaign.drop, options.seed);
  {
    StoreOptions store_options = IngestStoreOptions();
    store_options.access = Access::kReadWrite;
    store_options.create = true;
    TELLTALE_ASSIGN(const auto store, Store::Open(store_path, store_options));
    IngestOptions ingest;
    ingest.paths = {options.directory};
    TELLTALE_ASSIGN(const auto report, Ingest(*store, ingest));
  }
  TELLTALE_ASSIGN(const auto store, Store::Open(store_path, {}));
  const auto start = std::chrono::steady_clock::now();
  TELLTALE_ASSIGN(outcome.findings, collectives::FindCulprits(*store, ""));
  outcome.find_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.records = outcome.findings.records;
  Compare(campaign.drop > 0 || outcome.truth.lost > 0, outcome);
  std::filesystem::remove_all(options.directory);
  std::filesystem::remove(store_path);
  return outcome;
}

}  // namespace telltale::test
