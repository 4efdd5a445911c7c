#include "evidence/clock_graph.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace telltale::evidence {
namespace {

constexpr uint32_t kNoNode = ~uint32_t{0};

// What is less is rounding.
constexpr long double kLeastGain = 0.001L;
// Edges are widened by half a unit, so that ranges may be empty by no more than
// that.
constexpr long double kLeastContradiction = 1.0L;

}  // namespace

bool ReadingRange::IsBounded() const { return std::isfinite(low) && std::isfinite(high); }

ReadingRange ForwardRange(const ClockLines& lines, const ReadingRange& x) {
  ReadingRange y;
  if (std::isfinite(x.low)) y.low = x.low + lines.Lower(x.low);
  if (std::isfinite(x.high)) y.high = x.high + lines.Upper(x.high);
  return y;
}

ReadingRange BackwardRange(const ClockLines& lines, const ReadingRange& y) {
  ReadingRange x;
  if (std::isfinite(y.low)) x.low = lines.WhereUpperSumsTo(y.low);
  if (std::isfinite(y.high)) x.high = lines.WhereLowerSumsTo(y.high);
  return x;
}

struct ClockGraph::Search {
  Readings readings;
  std::vector<uint32_t> low_from, high_from, visits;
  std::vector<bool> is_waiting;
  std::deque<uint32_t> waiting;

  explicit Search(size_t nodes)
      : low_from(nodes, kNoNode), high_from(nodes, kNoNode), visits(nodes), is_waiting(nodes) {
    readings.of.resize(nodes);
  }

  void Wait(uint32_t node) {
    if (is_waiting[node]) return;
    is_waiting[node] = true;
    waiting.push_back(node);
  }

  // The nodes over which the node's range came about.
  void BlamePaths(uint32_t node) {
    std::vector<uint32_t>& blamed = readings.contradicting;
    for (const auto& from : {low_from, high_from}) {
      uint32_t at = node;
      for (size_t i = 0; i <= from.size() && at != kNoNode; ++i, at = from[at]) {
        blamed.push_back(at);
      }
    }
    std::sort(blamed.begin(), blamed.end());
    blamed.erase(std::unique(blamed.begin(), blamed.end()), blamed.end());
  }
};

ClockGraph::ClockGraph(size_t nodes, std::span<const ClockEdge> edges) : edges_(nodes) {
  for (const ClockEdge& edge : edges) {
    edges_[edge.x].push_back(edge);
    edges_[edge.y].push_back(edge);
  }
}

void ClockGraph::Relax(Search& search, uint32_t node, const ClockEdge& edge) const {
  const uint32_t to = edge.x == node ? edge.y : edge.x;
  const ReadingRange& from = search.readings.of[node];
  const ReadingRange range =
      edge.x == node ? ForwardRange(*edge.lines, from) : BackwardRange(*edge.lines, from);
  ReadingRange& known = search.readings.of[to];
  if (range.low > known.low + kLeastGain) {
    known.low = range.low;
    search.low_from[to] = node;
    search.Wait(to);
  }
  if (range.high < known.high - kLeastGain) {
    known.high = range.high;
    search.high_from[to] = node;
    search.Wait(to);
  }
}

Readings ClockGraph::At(uint32_t reference, long double time) const {
  Search search(edges_.size());
  search.readings.of[reference] = {time, time};
  search.Wait(reference);
  while (!search.waiting.empty()) {
    const uint32_t node = search.waiting.front();
    search.waiting.pop_front();
    search.is_waiting[node] = false;
    const ReadingRange& range = search.readings.of[node];
    // Each end of the range changes at most once for each length of a path;
    // only a circle that contradicts itself goes on.
    if (range.low > range.high + kLeastContradiction ||
        ++search.visits[node] > 2 * edges_.size() + 2) {
      search.BlamePaths(node);
      break;
    }
    for (const ClockEdge& edge : edges_[node]) Relax(search, node, edge);
  }
  return std::move(search.readings);
}

}  // namespace telltale::evidence
