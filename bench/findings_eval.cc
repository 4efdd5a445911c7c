// How right `telltale collectives findings` is over simulated jobs with known faults.
//
//   findings_eval [--jobs 300] [--seed 1] [--most-ranks 512] [--kind late_rank] [--verbose]

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/support/findings_campaign.h"

using telltale::collectives::FindingKind;
using telltale::test::Campaign;
using telltale::test::Score;

int main(int argc, char** argv) {
  uint64_t jobs = 300;
  uint64_t seed = 1;
  uint32_t most_ranks = 512;
  std::string kind;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--jobs") jobs = std::strtoull(value.c_str(), nullptr, 10);
    if (option == "--seed") seed = std::strtoull(value.c_str(), nullptr, 10);
    if (option == "--most-ranks")
      most_ranks = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (option == "--kind") kind = value;
    if (option == "--verbose") verbose = true;
  }
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("findings_eval_{}", ::getpid());
  std::filesystem::create_directories(folder);
  std::map<FindingKind, Score> scores;
  uint64_t healthy = 0, healthy_with_culprit = 0, records = 0;
  double seconds = 0;
  for (uint64_t i = 0; i < jobs; ++i) {
    const Campaign campaign = kind.empty()
                                  ? telltale::test::MakeCampaign(i, seed, most_ranks)
                                  : telltale::test::MakeCampaignOf(kind, seed + i, most_ranks);
    const auto outcome = telltale::test::RunCampaign(campaign, folder.string());
    if (!outcome) {
      fmt::print(stderr, "{}: {}\n", campaign.Name(), outcome.error().message);
      return 1;
    }
    records += outcome->records;
    seconds += outcome->find_seconds;
    uint64_t culprits = 0;
    for (const auto& finding : outcome->findings.findings)
      culprits += finding.kind != FindingKind::kLoss ? 1 : 0;
    if (campaign.expected.empty()) {
      ++healthy;
      healthy_with_culprit += culprits > 0 ? 1 : 0;
    }
    for (const auto& [of_kind, score] : outcome->scores) {
      Score& sum = scores[of_kind];
      sum.right += score.right;
      sum.wrong_place += score.wrong_place;
      sum.missed += score.missed;
      sum.false_alarms += score.false_alarms;
    }
    if (verbose && !outcome->all_right) {
      fmt::print("{}\n", campaign.Name());
      for (const auto& finding : outcome->findings.findings) {
        fmt::print("    {}: {}\n", KindName(finding.kind), finding.text);
      }
      for (const auto& not_known : outcome->findings.not_known)
        fmt::print("    not known: {}\n", not_known.text);
      std::fflush(stdout);
    }
  }
  std::filesystem::remove_all(folder);
  fmt::print("{:<18} {:>5} {:>6} {:>6} {:>6} {:>9} {:>7} {:>6}\n", "kind", "right", "place",
             "missed", "false", "precision", "recall", "place");
  for (const auto& [of_kind, score] : scores) {
    fmt::print("{:<18} {:>5} {:>6} {:>6} {:>6} {:>9.3f} {:>7.3f} {:>6.3f}\n", KindName(of_kind),
               score.right, score.wrong_place, score.missed, score.false_alarms, score.Precision(),
               score.Recall(), score.PlaceAccuracy());
  }
  fmt::print("healthy jobs {}, with a culprit {}; {} jobs, {} records, {:.2f} s in findings\n",
             healthy, healthy_with_culprit, jobs, records, seconds);
  return 0;
}
