#pragma once

// Jobs on several hosts for tests of the clock model: ranks come to operations
// at random, the last one lets all go on, and each record carries its host's
// time.

#include <cstdint>
#include <random>
#include <vector>

#include "evidence/clock_model.h"

namespace telltale::test {

struct ClockJobOptions {
  uint32_t hosts = 2;
  uint32_t ranks_per_host = 2;
  size_t operations = 1000;
  double seconds = 60;
  double wait_us = 500;      // mean; how far ranks are apart when they come
  double transfer_us = 100;  // least time of an operation once all are there, times 1 to 2
  int64_t resolution_ns = 1;
  double lost_part = 0.01;    // of records
  double swapped_part = 0;    // of operations, in which one rank's record is of the next operation
  double step_seconds = 0;    // host 1's clock is set by so much …
  double step_at_part = 0.5;  // … at this part of the time
  double wander_us = 0;       // host 1's clock goes so far to and fro, ten times
  bool overlapping_groups = true;  // operations of neighbours only, beside those of all hosts
};

class ClockJob {
 public:
  ClockJob(const ClockJobOptions& options, uint64_t seed);

  const evidence::ClockEvidence& evidence() const { return evidence_; }
  // What the host's clock reads, exactly, at a true time since the beginning.
  long double Reading(uint32_t host, long double true_ns) const;
  // The true difference to the reference while that reads time_ns.
  long double Offset(uint32_t host, uint32_t reference, int64_t time_ns) const;
  // Reading of the reference at a part of the time, 0 to 1.
  int64_t TimeAt(uint32_t reference, double part) const;
  double mean_transfer_ns() const { return transfer_sum_ns_ / static_cast<double>(transfers_); }

 private:
  int64_t Recorded(uint32_t host, long double true_ns) const;
  void AddOperation(uint64_t operation, const std::vector<uint32_t>& hosts, long double time_ns);
  void SwapRecords();

  ClockJobOptions options_;
  std::mt19937_64 random_;
  std::vector<long double> offset_ns_, drift_;
  evidence::ClockEvidence evidence_;
  double transfer_sum_ns_ = 0;
  uint64_t transfers_ = 0;
};

}  // namespace telltale::test
