#pragma once

// What all clocks read at one moment, from what pairs of clocks can be to each
// other: shortest paths from the reference, where the length of an edge is the
// extreme of its pair at the very reading that the path has come to. So nothing
// is lost to drift between clocks that are far apart.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "evidence/clock_lines.h"

namespace telltale::evidence {

struct ClockEdge {
  uint32_t x = 0;  // nodes
  uint32_t y = 0;
  const ClockLines* lines = nullptr;  // (what Y reads) - x while X reads x
};

struct ReadingRange {
  long double low = -std::numeric_limits<long double>::infinity();
  long double high = std::numeric_limits<long double>::infinity();
  bool IsBounded() const;
};

struct Readings {
  std::vector<ReadingRange> of;         // by node
  std::vector<uint32_t> contradicting;  // nodes on the paths that exclude each other; else empty
};

class ClockGraph {
 public:
  ClockGraph(size_t nodes, std::span<const ClockEdge> edges);

  // While `reference` reads `time`. Only ranges of nodes without a path stay
  // unbounded. O(edges) for each node on the longest of the shortest paths,
  // which are a few. Contradictions end it.
  Readings At(uint32_t reference, long double time) const;

 private:
  struct Search;
  void Relax(Search& search, uint32_t node, const ClockEdge& edge) const;

  std::vector<std::vector<ClockEdge>> edges_;  // by node, each edge at both ends
};

// What an edge says of one end by the range of the other.
ReadingRange ForwardRange(const ClockLines& lines,
                          const ReadingRange& x);  // of Y
ReadingRange BackwardRange(const ClockLines& lines,
                           const ReadingRange& y);  // of X

}  // namespace telltale::evidence
