// Structural tokens: how short steps of real profiles and of simulated ones become, losslessly and
// with the dictionary, beside Trace Pair Encoding as published (tpe.h); how fast steps are encoded
// and a vocabulary is learned; and what a vocabulary costs that was learned on another profile.
//
//   tokens_bench --telltale build/release/telltale --work build/bench [--samples ../shared/samples]
//                [--runs 5]
//
// Writes rows of build/bench.json, one a line; the whole table, and who reads whose vocabulary, to
// standard error. Without samples only simulated steps are measured.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/measure.h"
#include "bench/tpe.h"
#include "store/store.h"
#include "tokens/learn.h"
#include "tokens/load_call_trees.h"
#include "tokens/token_stats.h"

namespace {

namespace fs = std::filesystem;
using telltale::bench::Die;
using telltale::bench::PrintRow;
using telltale::bench::ValueOf;
using telltale::tokens::CallTrees;
using telltale::tokens::Codec;
using telltale::tokens::EncodedSteps;
using telltale::tokens::TokenStats;

constexpr size_t kPaperSize = 256;  // of the vocabulary in the TELLER paper
constexpr size_t kLargeSize = 4096;
// Of these the ratio with the dictionary is a target.
constexpr const char* kTargets[] = {"kineto_b200_vllm_tp8_rank0_eager",
                                    "kineto_a100_ddp_rank0of2_nccl_args", "kineto_h100_qwen05b"};

unsigned Threads() { return std::max(1u, std::thread::hardware_concurrency()); }

double Seconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Profile {
  std::string name;
  CallTrees trees;
};

// The steps of what `path` holds; none where it marks none.
CallTrees StepsOf(const std::string& telltale, const std::string& work, const std::string& path) {
  const std::string store_path = work + "/tokens-bench.duckdb";
  telltale::bench::RemoveStore(store_path);
  telltale::bench::Measure([&] {
    telltale::bench::Execute({telltale, "--quiet", "--store", store_path, "ingest", path});
  });
  CallTrees trees;
  {
    const auto store = ValueOf(telltale::Store::Open(store_path, {}));
    const auto connection = ValueOf(store->Connect());
    auto loaded = telltale::tokens::LoadCallTrees(*connection, {}, std::nullopt);
    if (loaded) trees = std::move(*loaded);
  }
  telltale::bench::RemoveStore(store_path);
  return trees;
}

std::vector<Profile> Samples(const std::string& telltale, const std::string& work,
                             const std::string& folder) {
  std::vector<Profile> profiles;
  std::error_code error;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder + "/traces", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("kineto_") || name.starts_with("nsys_")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    Profile profile{path.filename().string(), StepsOf(telltale, work, path.string())};
    profile.name = profile.name.substr(0, profile.name.find(".json"));
    if (profile.trees.Steps() > 0) profiles.push_back(std::move(profile));
  }
  return profiles;
}

void MakeServing(const std::string& telltale, const std::string& folder, const std::string& seed,
                 const std::string& from, const std::string& to) {
  if (fs::exists(folder + ".complete")) return;
  fs::remove_all(folder);
  fmt::print(stderr, "simulating {}\n", folder);
  telltale::bench::Measure([&] {
    telltale::bench::Execute({telltale, "--quiet", "simulate", "inference", "--out", folder,
                              "--layers", "32", "--trace-detail", "operators", "--trace-from", from,
                              "--trace-to", to, "--no-spans", "--seed", seed});
  });
  std::fclose(std::fopen((folder + ".complete").c_str(), "w"));
}

std::vector<size_t> AllSteps(const CallTrees& trees) {
  std::vector<size_t> steps(trees.Steps());
  std::iota(steps.begin(), steps.end(), size_t{0});
  return steps;
}

// Symbols a step as TPE writes them, two a node before.
double TpeSymbols(const telltale::bench::TpeVocabulary& vocabulary, const CallTrees& trees) {
  uint64_t symbols = 0;
  for (const size_t step : AllSteps(trees)) {
    symbols += telltale::bench::EncodeTpe(vocabulary, trees, step).size();
  }
  return static_cast<double>(symbols) / static_cast<double>(trees.Steps());
}

void RequireLossless(const Codec& codec, const CallTrees& trees, const EncodedSteps& encoded,
                     const std::string& name) {
  const CallTrees decoded = ValueOf(telltale::tokens::DecodeSteps(codec, encoded));
  const std::string difference = telltale::tokens::DifferenceOf(trees, decoded);
  if (!difference.empty()) Die(name + ": not lossless: " + difference);
}

struct Measured {
  TokenStats paper_size, large;
  double tpe = 0;
  double large_tpe = 0, large_tpe_dictionary = 0;  // all steps; two symbols a merge
  double tpe_connected = 0;                        // share of its tokens of several events
};

void PrintHead() {
  fmt::print(stderr, "\n{:<34} {:>5} {:>7} | {:^22} | {:^41} | {:^21} | {:^16}\n", "", "", "",
             "a step, 256 tokens", "all steps, as many as it takes", "TPE, the same",
             "bytes of all");
  fmt::print(
      stderr,
      "{:<34} {:>5} {:>7} | {:>6} {:>6} {:>8} | {:>7} {:>6} {:>7} {:>6} {:>11} | {:>6} {:>7} "
      "{:>6} | {:>6} {:>9}\n",
      "profile", "steps", "events", "tokens", "names", "TPE", "tokens", "names", "defined", "ratio",
      "less names", "tokens", "defined", "tree %", "struct", "durations");
}

Measured MeasureProfile(const Profile& profile) {
  Measured measured;
  const CallTrees& trees = profile.trees;
  for (const size_t size : {kPaperSize, kLargeSize}) {
    const Codec codec = ValueOf(telltale::tokens::LearnVocabulary(trees, {size, Threads()}));
    const EncodedSteps encoded = telltale::tokens::EncodeSteps(codec, trees, Threads());
    RequireLossless(codec, trees, encoded, profile.name);
    (size == kPaperSize ? measured.paper_size : measured.large) =
        telltale::tokens::StatsOf(codec, encoded);
  }
  measured.tpe = TpeSymbols(telltale::bench::TrainTpe(trees, AllSteps(trees), kPaperSize), trees);
  const auto large = telltale::bench::TrainTpe(trees, AllSteps(trees), kLargeSize);
  measured.large_tpe = TpeSymbols(large, trees) * static_cast<double>(trees.Steps());
  measured.large_tpe_dictionary = 2 * static_cast<double>(large.merges.size());
  const auto structure = telltale::bench::StructureOfTpe(large, trees, AllSteps(trees));
  measured.tpe_connected = static_cast<double>(structure.connected) /
                           static_cast<double>(std::max<uint64_t>(1, structure.merged_tokens));
  const TokenStats& small = measured.paper_size;
  const TokenStats& ours = measured.large;
  const double labels_only =
      static_cast<double>(ours.nodes) / static_cast<double>(ours.symbols + ours.dictionary_symbols);
  fmt::print(stderr,
             "{:<34} {:>5} {:>7.0f} | {:>6.1f} {:>6.1f} {:>8.1f} | {:>7} {:>6} {:>7} {:>6.2f} "
             "{:>11.2f} | {:>6.0f} {:>7.0f} {:>6.0f} | {:>6} {:>9}\n",
             profile.name, small.steps, small.NodesPerStep(), small.SymbolsPerStep(),
             static_cast<double>(small.name_corrections) / static_cast<double>(small.steps),
             measured.tpe, ours.symbols, ours.name_corrections, ours.dictionary_symbols,
             ours.RatioWithDictionary(), labels_only, measured.large_tpe,
             measured.large_tpe_dictionary, 100 * measured.tpe_connected, ours.StructureBytes(),
             ours.bytes[static_cast<size_t>(telltale::tokens::Column::kDurations)]);
  return measured;
}

void PrintProfileRows(const Profile& profile, const Measured& measured) {
  const bool is_target =
      std::find(std::begin(kTargets), std::end(kTargets), profile.name) != std::end(kTargets);
  const double tpe_ratio = static_cast<double>(measured.large.nodes) /
                           (measured.large_tpe + measured.large_tpe_dictionary);
  const double ratio = measured.large.RatioWithDictionary();
  PrintRow("tokens_ratio_" + profile.name, ratio, tpe_ratio, ratio / tpe_ratio, "events/symbol",
           is_target ? ">= 15" : "",
           "tokens_bench, lossless, exact names, with the dictionary; reference: TPE of 4,096 with "
           "its merges, lossy");
}

// Symbols a step of each profile with the vocabulary of each.
void PrintForeign(const std::vector<Profile>& profiles) {
  std::vector<Codec> codecs;
  for (const Profile& profile : profiles) {
    codecs.push_back(
        ValueOf(telltale::tokens::LearnVocabulary(profile.trees, {kPaperSize, Threads()})));
  }
  fmt::print(stderr,
             "\nevents by symbol (with names), 256 tokens; row: profile, column: where the "
             "vocabulary was learned\n{:<38}",
             "");
  for (size_t i = 0; i < profiles.size(); ++i) fmt::print(stderr, "{:>8}", fmt::format("[{}]", i));
  fmt::print(stderr, "\n");
  double worst = 0;
  for (size_t i = 0; i < profiles.size(); ++i) {
    fmt::print(stderr, "{:<38}", fmt::format("[{}] {}", i, profiles[i].name));
    for (const Codec& codec : codecs) {
      const EncodedSteps encoded =
          telltale::tokens::EncodeSteps(codec, profiles[i].trees, Threads());
      RequireLossless(codec, profiles[i].trees, encoded, profiles[i].name);
      const double ratio = telltale::tokens::StatsOf(codec, encoded).Ratio();
      worst = worst == 0 ? ratio : std::min(worst, ratio);
      fmt::print(stderr, "{:>8.2f}", ratio);
    }
    fmt::print(stderr, "\n");
  }
  PrintRow("tokens_foreign_vocabulary_worst", worst, 0, 0, "events/symbol", "lossless",
           "tokens_bench, each profile with the vocabulary of each other one, all decoded again");
}

// The paper's figure: symbols of steps of a run that the vocabulary was not learned on.
void MeasureServing(const CallTrees& learned_on, const CallTrees& trees) {
  const Codec codec =
      ValueOf(telltale::tokens::LearnVocabulary(learned_on, {kPaperSize, Threads()}));
  const EncodedSteps encoded = telltale::tokens::EncodeSteps(codec, trees, Threads());
  RequireLossless(codec, trees, encoded, "simulated steps");
  uint64_t symbols = 0, nodes = 0, steps = 0;
  for (size_t step = 0; step < trees.Steps(); ++step) {
    symbols += encoded.steps[step].StructureSymbols();
    nodes += encoded.steps[step].nodes;
    ++steps;
  }
  const auto tpe = telltale::bench::TrainTpe(learned_on, AllSteps(learned_on), kPaperSize);
  uint64_t tpe_symbols = 0;
  for (size_t step = 0; step < trees.Steps(); ++step) {
    tpe_symbols += telltale::bench::EncodeTpe(tpe, trees, step).size();
  }
  const auto fewer = [&](uint64_t count) {
    return 100 * (1 - static_cast<double>(count) / static_cast<double>(nodes));
  };
  const auto per_step = [&](uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(steps);
  };
  PrintRow("tokens_symbols_a_step", per_step(symbols), per_step(tpe_symbols),
           per_step(tpe_symbols) / per_step(symbols), "symbols", "",
           fmt::format("tokens_bench, {} simulated steps of {:.1f} events, 256 tokens learned "
                       "on {} of another seed; reference: TPE of 256",
                       steps, per_step(nodes), learned_on.Steps()));
  PrintRow("tokens_fewer_percent", fewer(symbols), fewer(tpe_symbols), 0, "%", ">= 95",
           "as above; the paper: 83.88");
}

void MeasureSpeed(const CallTrees& trees, int runs) {
  const auto events = static_cast<double>(trees.Nodes());
  std::vector<double> learning, encoding, decoding, tpe_encoding, tpe_learning;
  for (int run = 0; run < runs; ++run) {
    auto start = std::chrono::steady_clock::now();
    const Codec codec = ValueOf(telltale::tokens::LearnVocabulary(trees, {kPaperSize, Threads()}));
    learning.push_back(Seconds(start));
    start = std::chrono::steady_clock::now();
    const EncodedSteps encoded = telltale::tokens::EncodeSteps(codec, trees, Threads());
    encoding.push_back(events / Seconds(start) / 1e6);
    if (run > 0) continue;
    start = std::chrono::steady_clock::now();
    RequireLossless(codec, trees, encoded, "simulated steps");
    decoding.push_back(events / Seconds(start) / 1e6);
    start = std::chrono::steady_clock::now();
    const auto tpe = telltale::bench::TrainTpe(trees, AllSteps(trees), kLargeSize);
    tpe_learning.push_back(Seconds(start));
    start = std::chrono::steady_clock::now();
    (void)TpeSymbols(tpe, trees);
    tpe_encoding.push_back(events / Seconds(start) / 1e6);
  }
  using telltale::bench::Median;
  const std::string data = fmt::format(
      "tokens_bench, {} simulated steps, {:.1f} M events, {} "
      "threads; reference: TPE of 4,096, one thread",
      trees.Steps(), events / 1e6, Threads());
  PrintRow("tokens_encode", Median(encoding), Median(tpe_encoding),
           Median(encoding) / Median(tpe_encoding), "M events/s", ">= 10", data);
  PrintRow("tokens_decode_and_compare", Median(decoding), 0, 0, "M events/s", "", data);
  PrintRow("tokens_train", Median(learning), Median(tpe_learning),
           Median(tpe_learning) / Median(learning), "s", "<= 30", data);
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> option = {{"--runs", "5"}};
  const char* const samples = std::getenv("TELLTALE_SAMPLES");
  option["--samples"] = samples != nullptr ? samples : "../shared/samples";
  for (int i = 1; i + 1 < argc; i += 2) option[argv[i]] = argv[i + 1];
  const std::string telltale = option["--telltale"], work = option["--work"];
  if (telltale.empty() || work.empty()) Die("--telltale and --work are needed");

  fs::create_directories(work);
  std::vector<Profile> profiles = Samples(telltale, work, option["--samples"]);
  const std::string serving = work + "/serving-steps";
  const std::string other = work + "/serving-steps-other";
  MakeServing(telltale, serving, "1", "0.30", "0.33");
  MakeServing(telltale, other, "2", "0.30", "0.33");
  profiles.push_back({"simulated vLLM steps", StepsOf(telltale, work, serving)});
  PrintHead();
  for (const Profile& profile : profiles) {
    const Measured measured = MeasureProfile(profile);
    if (&profile != &profiles.back()) PrintProfileRows(profile, measured);
  }
  PrintForeign(profiles);
  MeasureServing(profiles.back().trees, StepsOf(telltale, work, other));

  const std::string many = work + "/serving-many-steps";
  MakeServing(telltale, many, "1", "0", "1");
  MeasureSpeed(StepsOf(telltale, work, many),
               static_cast<int>(std::strtol(option["--runs"].c_str(), nullptr, 10)));
  return 0;
}
