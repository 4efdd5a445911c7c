#pragma once

// Simulated jobs with known faults, what `findings` says about them, and how right that is. Used by
// bench/findings_eval.cc and, in small, by the tests.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/findings.h"
#include "simulate/training_options.h"

namespace telltale::test {

// What must be found.
struct Expected {
  collectives::FindingKind kind = collectives::FindingKind::kLateRank;
  int64_t global_rank = -1;
  std::string communicator;
  std::string host, other_host;
};

struct Campaign {
  simulate::TrainingOptions options;
  std::vector<Expected> expected;
  double drop = 0;             // part of the lines to take out at random
  bool loses_records = false;  // so that findings of loss are right, too
  std::string Name() const;
};

// The job of this number; every kind and severity comes up in turn. `least_effect` only sets how
// small effects become (0.2: 20 %).
Campaign MakeCampaign(uint64_t number, uint64_t seed, uint32_t most_ranks);

// A job of this kind: "healthy", "late_rank", "slow_link", "slow_host", "congestion", "jitter",
// "loss", "two".
Campaign MakeCampaignOf(const std::string& kind, uint64_t seed, uint32_t most_ranks);

struct Score {
  uint64_t right = 0;  // found, and in the right place
  uint64_t wrong_place = 0;
  uint64_t missed = 0;
  uint64_t false_alarms = 0;
  double Precision() const;
  double Recall() const;
  double PlaceAccuracy() const;
};

struct Outcome {
  collectives::Findings findings;
  std::map<collectives::FindingKind, Score> scores;
  bool all_right = true;
  uint64_t records = 0;
  double find_seconds = 0;
};

// Simulates into `folder`, ingests, finds, compares; removes what it wrote there.
Result<Outcome> RunCampaign(const Campaign& campaign, const std::string& folder);

}  // namespace telltale::test
