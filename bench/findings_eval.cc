// How right `telltale collectives findings` is over simulated jobs with known faults; prints a
// table.
//
//   findings_eval [--jobs 300] [--first 0] [--seed 1] [--most-ranks 512] [--kind late_rank]
//                 [--verbose]
//                 [--rows FILE]   append rows of build/bench.json, one a line

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/support/findings_campaign.h"

using telltale::collectives::FindingKind;
using telltale::test::Campaign;
using telltale::test::Outcome;
using telltale::test::Score;

namespace {

struct Options {
  uint64_t jobs = 300;
  uint64_t first = 0;  // number of the first job
  uint64_t seed = 1;
  uint32_t most_ranks = 512;
  std::string kind;
  std::string rows;
  bool verbose = false;
};

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    const uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (option == "--jobs") options.jobs = number;
    if (option == "--first") options.first = number;
    if (option == "--seed") options.seed = number;
    if (option == "--most-ranks") options.most_ranks = static_cast<uint32_t>(number);
    if (option == "--kind") options.kind = value;
    if (option == "--rows") options.rows = value;
    if (option == "--verbose") options.verbose = true;
  }
  return options;
}

struct Totals {
  std::map<FindingKind, Score> scores;
  uint64_t healthy = 0, healthy_with_culprit = 0;
  uint64_t two_faults = 0, both_named = 0;
  uint64_t records = 0;
  double seconds = 0;

  void Add(const Outcome& outcome) {
    records += outcome.records;
    seconds += outcome.find_seconds;
    for (const auto& [kind, score] : outcome.scores) scores[kind] += score;
    if (outcome.truth.faults.empty()) {
      ++healthy;
      healthy_with_culprit += outcome.Culprits() > 0 ? 1 : 0;
    }
    if (outcome.truth.faults.size() == 2) {
      ++two_faults;
      uint64_t right = 0;
      for (const auto& [kind, score] : outcome.scores) right += score.right;
      both_named += right == 2 ? 1 : 0;
    }
  }
};

void PrintWrong(const Campaign& campaign, const Outcome& outcome) {
  fmt::print("{}\n", campaign.Name());
  for (const auto& finding : outcome.findings.findings) {
    fmt::print("    {}: {}\n", KindName(finding.kind), finding.text);
  }
  for (const auto& not_known : outcome.findings.not_known) {
    fmt::print("    not known: {}\n", not_known.text);
  }
  std::fflush(stdout);
}

void PrintTable(const Totals& totals, uint64_t jobs) {
  fmt::print("{:<12} {:>5} {:>6} {:>12} {:>7} {:>6} {:>10} {:>7} {:>11}\n", "kind", "jobs", "right",
             "wrong place", "missed", "false", "precision", "recall", "no effect");
  for (const auto& [kind, score] : totals.scores) {
    fmt::print("{:<12} {:>5} {:>6} {:>12} {:>7} {:>6} {:>10.3f} {:>7.3f} {:>11}\n", KindName(kind),
               score.Jobs(), score.right, score.wrong_place, score.missed, score.false_alarms,
               score.Precision(), score.Recall(), score.did_not_happen);
  }
  fmt::print(
      "{} healthy jobs, {} with a culprit; {} jobs with two faults, both named in {}\n"
      "{} jobs, {} records, {:.2f} s in findings\n",
      totals.healthy, totals.healthy_with_culprit, totals.two_faults, totals.both_named, jobs,
      totals.records, totals.seconds);
}

void WriteRows(const Totals& totals, const Options& options) {
  std::ofstream out(options.rows, std::ios::app);
  const auto row = [&](const std::string& name, double value, const char* unit,
                       const char* target) {
    out << fmt::format(
        R"({{"name":"findings_{}","ours":{:.4g},"reference":null,"ratio":null,)"
        R"("unit":"{}","target":"{}","command":"findings_eval --jobs {} --seed {}"}})"
        "\n",
        name, value, unit, target, options.jobs, options.seed);
  };
  Score all;
  for (const auto& [kind, score] : totals.scores) {
    row(fmt::format("{}_precision", KindName(kind)), score.Precision(), "part", ">= 0.95");
    row(fmt::format("{}_recall", KindName(kind)), score.Recall(), "part", ">= 0.95");
    all += score;
  }
  row("right_place", all.PlaceAccuracy(), "part", ">= 0.95");
  row("healthy_with_culprit", static_cast<double>(totals.healthy_with_culprit), "jobs", "0");
  if (totals.two_faults > 0) {
    row("two_faults_both_named",
        static_cast<double>(totals.both_named) / static_cast<double>(totals.two_faults), "part",
        "1");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("findings_eval_{}", ::getpid());
  std::filesystem::create_directories(folder);
  Totals totals;
  for (uint64_t i = options.first; i < options.first + options.jobs; ++i) {
    const Campaign campaign =
        options.kind.empty()
            ? telltale::test::MakeCampaign(i, options.seed, options.most_ranks)
            : telltale::test::MakeCampaignOf(options.kind, options.seed + i, options.most_ranks);
    const auto outcome = telltale::test::RunCampaign(campaign, folder.string());
    if (!outcome) {
      fmt::print(stderr, "{}: {}\n", campaign.Name(), outcome.error().message);
      return 1;
    }
    totals.Add(*outcome);
    if (options.verbose && !outcome->all_right) PrintWrong(campaign, *outcome);
  }
  std::filesystem::remove_all(folder);
  PrintTable(totals, options.jobs);
  if (!options.rows.empty()) WriteRows(totals, options);
  return 0;
}
