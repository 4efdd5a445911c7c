#include "evidence/clock_pair.h"

#include <algorithm>
#include <utility>

namespace telltale::evidence {
namespace {

constexpr size_t kLeaf = 128;

// Wrong records contradict others of their leaf. Conflicts between leaves are
// few, unless a clock was set or is not linear.
constexpr size_t kMostConflictsOfLeaves = 256;

// Where a clock was set is found among so many operations at most.
constexpr size_t kMostToSplit = 8192;

void AddAbove(const PairOperation& operation, uint32_t place, std::vector<ClockPoint>& points) {
  if (!operation.bounds_above) return;
  points.push_back({operation.start_x, operation.end_y - operation.start_x, place});
}

void AddBelow(const PairOperation& operation, uint32_t place, std::vector<ClockPoint>& points) {
  if (!operation.bounds_below) return;
  points.push_back({operation.end_x, operation.start_y - operation.end_x, place});
}

struct Points {
  std::vector<ClockPoint> above, below;
};

// The hulls of a set of lines as points again.
Points HullsOf(const ClockLines& lines) {
  Points points{lines.above().points(), lines.negated_below().points()};
  for (ClockPoint& point : points.below) point.y = -point.y;
  return points;
}

// Operations in leaves, each with its hulls, so that leaving one out costs a
// leaf and the hulls of the others.
class Cleaner {
 public:
  Cleaner(std::span<const PairOperation> operations, const PairOptions& options)
      : operations_(operations),
        options_(options),
        is_left_out_(operations.size(), false),
        leaves_((operations.size() + kLeaf - 1) / kLeaf) {}

  PairFit Clean() {
    const size_t most = MostLeftOut(operations_.size(), options_);
    // A conflict has one culprit at least and four operations at most.
    const size_t most_meanwhile = 4 * most;
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      for (ClockLines lines = FitLeaf(leaf); !lines.exists(); lines = FitLeaf(leaf)) {
        LeaveOut(lines.conflict());
        if (count_ > most_meanwhile) return Contradictory();
      }
    }
    ClockLines lines = FitAll({});
    for (size_t i = 0; !lines.exists(); ++i) {
      LeaveOut(lines.conflict());
      if (count_ > most_meanwhile || i == kMostConflictsOfLeaves) return Contradictory();
      for (const uint32_t place : lines.conflict()) FitLeaf(place / kLeaf);
      lines = FitAll({});
    }
    TakeBack(lines);
    if (count_ > most) return Contradictory();
    return {std::move(lines), LeftOut(), false};
  }

 private:
  static PairFit Contradictory() { return {{}, {}, true}; }

  ClockLines FitLeaf(size_t leaf) {
    Points points;
    const size_t end = std::min(operations_.size(), (leaf + 1) * kLeaf);
    for (size_t i = leaf * kLeaf; i < end; ++i) {
      if (is_left_out_[i]) continue;
      AddAbove(operations_[i], static_cast<uint32_t>(i), points.above);
      AddBelow(operations_[i], static_cast<uint32_t>(i), points.below);
    }
    ClockLines lines(std::move(points.above), std::move(points.below), options_.most_drift);
    leaves_[leaf] = HullsOf(lines);
    return lines;
  }

  ClockLines FitAll(const Points& more) const {
    Points all = more;
    for (const Points& leaf : leaves_) {
      all.above.insert(all.above.end(), leaf.above.begin(), leaf.above.end());
      all.below.insert(all.below.end(), leaf.below.begin(), leaf.below.end());
    }
    return ClockLines(std::move(all.above), std::move(all.below), options_.most_drift);
  }

  void LeaveOut(std::span<const uint32_t> places) {
    for (const uint32_t place : places) is_left_out_[place] = true;
    count_ += places.size();
  }

  // By how much an operation misses all lines; below 0 where it misses none.
  long double MissOf(const ClockLines& lines, uint32_t place) const {
    Points points;
    AddAbove(operations_[place], place, points.above);
    AddBelow(operations_[place], place, points.below);
    long double miss = -1;
    for (const ClockPoint& point : points.above) {
      miss = std::max(
          miss, lines.Lower(static_cast<long double>(point.x)) - static_cast<long double>(point.y));
    }
    for (const ClockPoint& point : points.below) {
      miss = std::max(
          miss, static_cast<long double>(point.y) - lines.Upper(static_cast<long double>(point.x)));
    }
    return miss;
  }

  // Takes back what contradicts nothing, those first that miss least.
  void TakeBack(ClockLines& lines) {
    std::vector<std::pair<long double, uint32_t>> order;
    for (const uint32_t place : LeftOut()) order.emplace_back(MissOf(lines, place), place);
    std::sort(order.begin(), order.end());
    for (const auto& [miss, place] : order) {
      if (MissOf(lines, place) > 1) continue;
      Points points = HullsOf(lines);
      AddAbove(operations_[place], place, points.above);
      AddBelow(operations_[place], place, points.below);
      ClockLines with(std::move(points.above), std::move(points.below), options_.most_drift);
      if (!with.exists()) continue;
      lines = std::move(with);
      is_left_out_[place] = false;
      --count_;
    }
  }

  std::vector<uint32_t> LeftOut() const {
    std::vector<uint32_t> places;
    for (size_t i = 0; i < is_left_out_.size(); ++i) {
      if (is_left_out_[i]) places.push_back(static_cast<uint32_t>(i));
    }
    return places;
  }

  std::span<const PairOperation> operations_;
  const PairOptions& options_;
  std::vector<bool> is_left_out_;
  size_t count_ = 0;
  std::vector<Points> leaves_;
};

// The longest part that holds, of those that `part_of_length` gives for lengths
// up to `most`.
template <typename PartOfLength>
size_t LongestPart(size_t most, const PairOptions& options, const PartOfLength& part_of_length) {
  const auto holds = [&](size_t length) {
    return !FitPair(part_of_length(length), options).is_contradictory;
  };
  if (holds(most)) return most;
  size_t good = 1;
  size_t bad = std::min<size_t>(8, most);
  while (bad < most && holds(bad)) {
    good = bad;
    bad = std::min(2 * bad, most);
  }
  while (bad - good > 1) {
    const size_t middle = good + (bad - good) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

PairOperation Exchanged(const PairOperation& operation) {
  return {operation.start_y,      operation.end_y,        operation.start_x,  operation.end_x,
          operation.bounds_below, operation.bounds_above, operation.operation};
}

size_t MostLeftOut(size_t operations, const PairOptions& options) {
  if (operations < 10) return 0;
  const auto part = static_cast<size_t>(static_cast<double>(operations) *
                                        std::clamp(options.most_contradicting_part, 0.0, 1.0));
  return std::max<size_t>(part, 1);
}

PairFit FitPair(std::span<const PairOperation> operations, const PairOptions& options) {
  Points points;
  points.above.reserve(operations.size());
  points.below.reserve(operations.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    AddAbove(operations[i], static_cast<uint32_t>(i), points.above);
    AddBelow(operations[i], static_cast<uint32_t>(i), points.below);
  }
  ClockLines lines(std::move(points.above), std::move(points.below), options.most_drift);
  if (lines.exists()) return {std::move(lines), {}, false};
  return Cleaner(operations, options).Clean();
}

Crowds CrowdsAtEnds(std::span<const uint32_t> left_out, size_t operations) {
  Crowds crowds;
  for (size_t i = 1; i < left_out.size(); ++i) {
    const size_t from_front = left_out[i] + size_t{1};
    if (4 * (i + 1) >= from_front) crowds.at_front = std::min(2 * from_front, operations);
    const size_t from_back = operations - left_out[left_out.size() - 1 - i];
    if (4 * (i + 1) >= from_back) crowds.at_back = std::min(2 * from_back, operations);
  }
  return crowds;
}

std::vector<PairSegment> SplitPair(std::span<const PairOperation> all, const PairOptions& options) {
  // A border that lies between two of every n-th operation is a border of all:
  // it only becomes a little wider.
  const size_t stride = (all.size() + kMostToSplit - 1) / kMostToSplit;
  std::vector<PairOperation> operations_seen;
  for (size_t i = 0; i < all.size(); i += stride) operations_seen.push_back(all[i]);
  const std::span<const PairOperation> operations = operations_seen;
  const size_t count = operations.size();
  std::vector<size_t> ends,
      begins;  // of parts, from the front and from the back
  for (size_t at = 0; at < count && ends.size() < options.most_segments; ends.push_back(at)) {
    at += LongestPart(count - at, options,
                      [&](size_t length) { return operations.subspan(at, length); });
  }
  if (ends.empty() || ends.back() != count) return {};
  for (size_t at = count; at > 0 && begins.size() < ends.size(); begins.push_back(at)) {
    at -= LongestPart(at, options,
                      [&](size_t length) { return operations.subspan(at - length, length); });
  }
  if (begins.size() != ends.size() || begins.back() != 0) return {};
  std::reverse(begins.begin(), begins.end());
  std::vector<PairSegment> segments;
  for (size_t i = 0; i < ends.size(); ++i) {
    size_t first = i == 0 ? 0 : ends[i - 1];
    size_t last = i + 1 == ends.size() ? count : begins[i + 1];
    if (first >= last) continue;
    const auto part = operations.subspan(first, last - first);
    const Crowds crowds = CrowdsAtEnds(FitPair(part, options).left_out, part.size());
    if (i == 0) first += crowds.at_front;
    if (i + 1 == ends.size()) last -= std::min(last, crowds.at_back);
    if (first >= last) continue;
    const bool is_at_end = last == count;
    segments.push_back({first * stride, is_at_end ? all.size() : (last - 1) * stride + 1});
  }
  return segments;
}

}  // namespace telltale::evidence
