#pragma once

// What is known of the clocks of a run's hosts, and what of it each pair of
// hosts shares.

#include <cstdint>
#include <string>
#include <vector>

#include "evidence/clock_pair.h"

namespace telltale::evidence {

// One record of an operation that no rank can leave before all have entered it
// (all-reduce, all-gather, reduce-scatter, barrier; not a broadcast: its root
// may be gone before others come). start_ns may be earlier than the true start
// and end_ns later than the true end.
struct ClockSighting {
  uint64_t operation = 0;  // the same for all records of an operation
  uint32_t host = 0;       // index into ClockEvidence::hosts
  int64_t start_ns = 0;    // by the host's clock
  int64_t end_ns = 0;
};

// A receive does not end before its send has begun.
struct ClockTransfer {
  uint64_t operation = 0;
  uint32_t sender = 0;
  uint32_t receiver = 0;
  int64_t send_start_ns = 0;   // by the sender's clock
  int64_t receive_end_ns = 0;  // by the receiver's
};

// A host's clock showed local_ns when it was utc_ns, give or take bound_ns.
struct ClockAnchor {
  uint32_t host = 0;
  int64_t local_ns = 0;
  int64_t utc_ns = 0;
  int64_t bound_ns = 0;
};

struct ClockEvidence {
  std::vector<std::string> hosts;
  std::vector<ClockSighting> sightings;  // any order; several ranks of a host are welcome
  std::vector<ClockTransfer> transfers;
  std::vector<ClockAnchor> anchors;
};

struct ClockOptions {
  // By so much a recorded start may be later than the true one, or an end
  // earlier: the resolution of the time, and the error of converting the GPU's
  // clock to the host's. Old Kineto traces have whole microseconds; CUPTI's
  // conversion is good to about as much.
  int64_t slack_ns = 1000;
  PairOptions pair;
  size_t knots = 9;  // times at which bounds are found, in each part of the
                     // time; two at least
};

struct HostPair {
  uint32_t x = 0;  // of the two, that with more evidence
  uint32_t y = 0;
  std::vector<PairOperation> operations;  // by TimeX()
};

struct SharedEvidence {
  // All times below are since this: the median, so that a few absurd times do
  // not matter.
  int64_t base_ns = 0;
  std::vector<HostPair> pairs;  // by x and y; of hosts that share anything
  // Of each host and its clock against UTC.
  std::vector<HostPair> anchored;  // x is kUtc
  // By host.
  std::vector<uint64_t> operations;          // shared with other hosts
  std::vector<uint64_t> self_contradicting;  // operations that end on it before they begin on it
  std::vector<int64_t> first_ns, last_ns;    // readings
  std::vector<uint32_t> by_evidence;         // hosts, the most operations first, then by name
  uint64_t ignored = 0;                      // records with times that cannot be, or of no host
};

constexpr uint32_t kUtc = ~uint32_t{0};

// Up to 16 hosts of an operation are paired each with each; of more, the four
// with the most evidence with all: what other pairs add to those is little, and
// they are many. O(n log n).
SharedEvidence ShareEvidence(const ClockEvidence& evidence, const ClockOptions& options);

}  // namespace telltale::evidence
