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

// A fault that the simulator says it made, and so what must be found.
struct Expected {
  collectives::FindingKind kind = collectives::FindingKind::kLateRank;
  int64_t global_rank = -1;
  std::string communicator;
  std::string host, other_host;
  bool happened = true;  // false: it touched no operation (a ring that never ran over)
};

// The simulator's file of what it did.
struct Truth {
  std::vector<Expected> faults;
  uint64_t lost = 0;  // operations that happened and have no record
};
Result<Truth> ReadTruth(const std::string& path);

struct Campaign {
  simulate::TrainingOptions options;
  double drop = 0;  // part of the lines to take out at random
  std::string Name() const;
};

// The job of this number; every kind and severity comes up in turn, and each third job is healthy.
Campaign MakeCampaign(uint64_t number, uint64_t seed, uint32_t most_ranks);

// A job of this kind: "healthy", "late_rank", "slow_link", "slow_host", "congestion", "jitter",
// "loss", "two".
Campaign MakeCampaignOf(const std::string& kind, uint64_t seed, uint32_t most_ranks);

struct Score {
  uint64_t right = 0;  // found, and in the right place
  uint64_t wrong_place = 0;
  uint64_t missed = 0;
  uint64_t false_alarms = 0;
  uint64_t did_not_happen = 0;  // faults without an effect: in none of the others
  uint64_t Jobs() const { return right + wrong_place + missed; }
  Score& operator+=(const Score& other);
  double Precision() const;
  double Recall() const;
  double PlaceAccuracy() const;
};

struct Outcome {
  Truth truth;
  collectives::Findings findings;
  std::map<collectives::FindingKind, Score> scores;
  bool all_right = true;
  uint64_t records = 0;
  double find_seconds = 0;
  uint64_t Culprits() const;  // findings that are not about lost records
};

// Simulates into `folder`, ingests, finds, compares; removes what it wrote there.
Result<Outcome> RunCampaign(const Campaign& campaign, const std::string& folder);

}  // namespace telltale::test
