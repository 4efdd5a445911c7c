#pragma once

// Operations matched over ranks: one entry an operation, in the order of sequence numbers.

#include <cstdint>
#include <vector>

#include "collectives/findings_data.h"

namespace telltale::collectives {

struct MatchedLane {
  std::vector<uint32_t> sequence;
  std::vector<float> least_us;   // intrinsic time, or an upper bound where ranks are missing
  std::vector<float> second_us;  // the second shortest
  std::vector<float> most_us;
  std::vector<uint16_t>
      last;  // place in Lane::series of the rank that came last (the shortest time)
  std::vector<uint16_t> present;  // ranks that recorded it
  // Of p2p only: how far the sender was, 0 to 1, because each rank counts by itself; and the place
  // in Lane::series of the sender, whose number `sequence` is.
  std::vector<float> progress;
  std::vector<uint16_t> source;
  double presence = 0;  // mean part of the communicator's ranks that recorded an operation
  bool exact = true;    // false: p2p records that could only be matched roughly
  size_t size() const { return sequence.size(); }
  // 0 to 1 over the counter's life, which is much the same time in all communicators of a job.
  double Progress(const Lane& lane, size_t i) const {
    if (!progress.empty()) return progress[i];
    const double range = static_cast<double>(lane.last_sequence - lane.first_sequence);
    return range > 0 ? (static_cast<double>(sequence[i] - lane.first_sequence) + 0.5) / (range + 1)
                     : 0.5;
  }
};

// Operations with fewer than two ranks are left out. All lanes, on `threads` threads.
std::vector<MatchedLane> MatchLanes(const RunData& data, unsigned threads);

}  // namespace telltale::collectives
