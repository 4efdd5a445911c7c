#pragma once

// The clocks of a run's hosts against each other. A host's clock reads C(t) = t
// + o(t), with o linear in t (offset and drift) between the moments at which it
// is set. What operations on several hosts and anchors allow is a range of
// offsets at each time; the truth lies in it as long as the evidence is true
// and clocks are linear. Evidence that contradicts itself is left out and
// counted where it is a small part; a clock that was set is described in parts;
// else the bound is unknown. Pure functions; thread safe.
//
// Source of the idea: convex hulls for one-way delays, as in A. Duda and
// others, "Estimating global time in distributed systems" (ICDCS 1987).
// Readings are compared with readings here, so drift while an operation runs
// adds no error.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/clock_evidence.h"

namespace telltale::evidence {

enum class ClockBasis {
  kNone,           // nothing says anything of this clock; no parts
  kContradictory,  // what is known excludes itself; no parts
  kAnchor,         // anchors, not of this host's operations alone
  kCollectives,    // operations shared with other hosts, refined by anchors
};
std::string_view ClockBasisName(ClockBasis basis);

// At a time by the reference host's clock: the least and the greatest
// difference (this host's reading) - (the reference's) that is possible.
struct ClockKnot {
  int64_t time_ns = 0;
  int64_t lower_ns = 0;
  int64_t upper_ns = 0;
};

// A part of the time in which the clock is linear. Between knots the bounds go
// straight from knot to knot: the true difference is a line, so it lies under
// the straight between two values that it lies under. Outside of the knots
// nothing is claimed.
struct ClockSegment {
  std::vector<ClockKnot> knots;  // at least one, by time
  // The straight through the middle: difference = offset_ns + drift_ppb * 1e-9
  // * (time - reference_time_ns), wrong by error_ns at most anywhere between
  // the first and the last knot.
  int64_t reference_time_ns = 0;
  int64_t offset_ns = 0;
  int64_t drift_ppb = 0;
  int64_t error_ns = 0;
};

struct HostClock {
  std::string host;
  std::string reference_host;
  ClockBasis basis = ClockBasis::kNone;
  std::vector<ClockSegment> segments;  // by time, apart from each other
  uint64_t operations = 0;             // shared with other hosts
  uint64_t contradictions = 0;         // of them, those left out
};

struct ClockBound {
  int64_t lower_ns = 0;
  int64_t upper_ns = 0;
};

struct ClockModel {
  // Two hosts that share operations, whose clocks can be compared without a
  // third.
  struct Direct {
    uint32_t x = 0;
    uint32_t y = 0;
    ClockLines lines;
    int64_t first_x = 0,
            last_x = 0;  // readings of X between which it holds, since base_ns
  };

  std::vector<HostClock> hosts;  // as in the evidence
  uint32_t reference = 0;        // its offset is 0
  uint64_t ignored = 0;          // records that cannot be
  int64_t base_ns = 0;
  std::vector<Direct> direct;  // by x and y
};

// O(n log n) for n records, and for each knot a few evaluations of each pair of
// hosts.
ClockModel EstimateClocks(const ClockEvidence& evidence, const ClockOptions& options);

// How far the host's clock is ahead of the reference's while that reads
// time_ns. None where nothing is claimed.
std::optional<ClockBound> OffsetAt(const HostClock& clock, int64_t time_ns);

// What the reference's clock may have shown when the host's showed local_ns.
// None where nothing is claimed of all of it.
std::optional<ClockBound> ReferenceTimesOf(const HostClock& clock, int64_t local_ns);

// Whether what host A's clock showed at time_a came before what host B's showed
// at time_b.
enum class Order { kBefore, kAfter, kUncertain };
Order CompareAcrossHosts(const ClockModel& model, int64_t time_a_ns, uint32_t host_a,
                         int64_t time_b_ns, uint32_t host_b);

}  // namespace telltale::evidence
