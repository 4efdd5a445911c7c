#include "collectives/findings_matching.h"

#include <algorithm>
#include <limits>

#include "base/slices.h"

namespace telltale::collectives {
namespace {

constexpr float kNone = std::numeric_limits<float>::max();

// A lane whose ranks must fit `last`.
constexpr size_t kMostRanks = std::numeric_limits<uint16_t>::max();

class CollectiveMatcher {
 public:
  CollectiveMatcher(const RunData& data, const Lane& lane) : data_(data), lane_(lane) {}

  MatchedLane Match() {
    FindSequences();
    matched_.least_us.assign(matched_.size(), kNone);
    matched_.second_us.assign(matched_.size(), kNone);
    matched_.most_us.assign(matched_.size(), 0);
    matched_.last.assign(matched_.size(), 0);
    matched_.present.assign(matched_.size(), 0);
    for (size_t slot = 0; slot < lane_.series.size(); ++slot) Add(slot);
    KeepMatched();
    return std::move(matched_);
  }

 private:
  // All sequence numbers of any rank. Ranks mostly have the same.
  void FindSequences() {
    std::vector<uint32_t>& all = matched_.sequence;
    std::vector<uint32_t> merged;
    for (const SeriesData& series : lane_.series) {
      const auto own = data_.Sequences(series);
      if (std::equal(own.begin(), own.end(), all.begin(), all.end())) continue;
      merged.clear();
      std::set_union(all.begin(), all.end(), own.begin(), own.end(), std::back_inserter(merged));
      all.swap(merged);
    }
  }

  void Add(size_t slot) {
    const auto own = data_.Sequences(lane_.series[slot]);
    const auto times = data_.Times(lane_.series[slot]);
    size_t at = 0;
    for (size_t i = 0; i < own.size(); ++i, ++at) {
      while (matched_.sequence[at] != own[i]) ++at;
      const auto time = static_cast<float>(times[i]);
      if (time < matched_.least_us[at]) {
        matched_.second_us[at] = matched_.least_us[at];
        matched_.least_us[at] = time;
        matched_.last[at] = static_cast<uint16_t>(slot);
      } else {
        matched_.second_us[at] = std::min(matched_.second_us[at], time);
      }
      matched_.most_us[at] = std::max(matched_.most_us[at], time);
      ++matched_.present[at];
    }
  }

  void KeepMatched() {
    size_t kept = 0;
    double ranks = 0;
    for (size_t i = 0; i < matched_.size(); ++i) {
      if (matched_.present[i] < 2) continue;
      ranks += matched_.present[i];
      matched_.sequence[kept] = matched_.sequence[i];
      matched_.least_us[kept] = matched_.least_us[i];
      matched_.second_us[kept] = matched_.second_us[i];
      matched_.most_us[kept] = matched_.most_us[i];
      matched_.last[kept] = matched_.last[i];
      matched_.present[kept++] = matched_.present[i];
    }
    matched_.sequence.resize(kept);
    for (auto* values : {&matched_.least_us, &matched_.second_us, &matched_.most_us})
      values->resize(kept);
    for (auto* values : {&matched_.last, &matched_.present}) values->resize(kept);
    const double n_ranks = static_cast<double>(data_.communicators[lane_.communicator].n_ranks);
    if (kept > 0) matched_.presence = ranks / static_cast<double>(kept) / n_ranks;
  }

  const RunData& data_;
  const Lane& lane_;
  MatchedLane matched_;
};

// Sends and receives count by rank, both together, so the two ends of a transfer have different
// numbers. In one direction, and where neither end lost records, the k-th send belongs to the k-th
// receive.
class TransferMatcher {
 public:
  TransferMatcher(const RunData& data, const Lane& lane) : data_(data), lane_(lane) {}

  MatchedLane Match() {
    for (const bool from_low : {true, false}) MatchDirection(from_low);
    SortByProgress();
    matched_.presence = matched_.exact ? 1 : 0.5;
    return std::move(matched_);
  }

 private:
  struct Point {
    double progress;
    uint32_t sequence;
    float time;
    uint16_t slot;
  };

  void MatchDirection(bool from_low) {
    const int64_t sender = from_low ? lane_.low_rank : lane_.high_rank;
    size_t send = lane_.series.size();
    size_t receive = send;
    for (size_t i = 0; i < lane_.series.size(); ++i) {
      const bool is_sender = data_.members[lane_.series[i].member].rank == sender;
      if (lane_.series[i].is_send && is_sender) send = i;
      if (!lane_.series[i].is_send && !is_sender) receive = i;
    }
    if (send == lane_.series.size() || receive == lane_.series.size()) return;
    const SeriesData& sent = lane_.series[send];
    const SeriesData& received = lane_.series[receive];
    const bool complete = sent.count == received.count && !data_.members[sent.member].incomplete &&
                          !data_.members[received.member].incomplete;
    complete ? MatchExactly(send, receive) : MatchRoughly(send, receive);
  }

  void MatchExactly(size_t send, size_t receive) {
    const SeriesData& sent = lane_.series[send];
    const auto sequences = data_.Sequences(sent);
    const auto send_times = data_.Times(sent);
    const auto receive_times = data_.Times(lane_.series[receive]);
    const double range = static_cast<double>(sequences.back() - sequences.front()) + 1;
    for (size_t i = 0; i < sent.count; ++i) {
      const double progress = (static_cast<double>(sequences[i] - sequences.front()) + 0.5) / range;
      Add({progress, sequences[i], static_cast<float>(send_times[i]), static_cast<uint16_t>(send)},
          send, static_cast<float>(receive_times[i]), receive);
    }
  }

  // Of a few neighbours from both ends, some were waited for: their shortest time is the
  // transfer's.
  void MatchRoughly(size_t send, size_t receive) {
    matched_.exact = false;
    std::vector<Point> points;
    for (const size_t slot : {send, receive}) {
      const SeriesData& series = lane_.series[slot];
      const auto sequences = data_.Sequences(series);
      const auto times = data_.Times(series);
      const double range = std::max(1.0, static_cast<double>(sequences.back() - sequences.front()));
      for (size_t i = 0; i < series.count; ++i) {
        points.push_back({static_cast<double>(sequences[i] - sequences.front()) / range,
                          sequences[i], static_cast<float>(times[i]), static_cast<uint16_t>(slot)});
      }
    }
    std::sort(points.begin(), points.end(),
              [](const Point& a, const Point& b) { return a.progress < b.progress; });
    constexpr size_t kNeighbours = 6;
    for (size_t i = 0; i + kNeighbours <= points.size(); i += kNeighbours) {
      const auto first = points.begin() + static_cast<std::ptrdiff_t>(i);
      std::sort(first, first + kNeighbours,
                [](const Point& a, const Point& b) { return a.time < b.time; });
      // The number must be the sender's, if one of its records is among them.
      const auto sent = std::find_if(first, first + kNeighbours,
                                     [&](const Point& point) { return point.slot == send; });
      if (sent == first + kNeighbours) continue;
      Add({first->progress, sent->sequence, first->time, first->slot}, send, (first + 1)->time,
          (first + 1)->slot);
    }
  }

  void Add(const Point& one, size_t source, float other, size_t other_slot) {
    matched_.sequence.push_back(one.sequence);
    matched_.progress.push_back(static_cast<float>(one.progress));
    matched_.source.push_back(static_cast<uint16_t>(source));
    matched_.least_us.push_back(std::min(one.time, other));
    matched_.second_us.push_back(std::max(one.time, other));
    matched_.most_us.push_back(std::max(one.time, other));
    matched_.last.push_back(one.time <= other ? one.slot : static_cast<uint16_t>(other_slot));
    matched_.present.push_back(2);
  }

  void SortByProgress() {
    std::vector<uint32_t> order(matched_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return matched_.progress[a] < matched_.progress[b];
    });
    MatchedLane sorted;
    sorted.exact = matched_.exact;
    for (const uint32_t i : order) {
      sorted.sequence.push_back(matched_.sequence[i]);
      sorted.progress.push_back(matched_.progress[i]);
      sorted.source.push_back(matched_.source[i]);
      sorted.least_us.push_back(matched_.least_us[i]);
      sorted.second_us.push_back(matched_.second_us[i]);
      sorted.most_us.push_back(matched_.most_us[i]);
      sorted.last.push_back(matched_.last[i]);
      sorted.present.push_back(matched_.present[i]);
    }
    matched_ = std::move(sorted);
  }

  const RunData& data_;
  const Lane& lane_;
  MatchedLane matched_;
};

}  // namespace

std::vector<MatchedLane> MatchLanes(const RunData& data, unsigned threads) {
  std::vector<MatchedLane> matched(data.lanes.size());
  ForEachInTurn(data.lanes.size(), threads, 1, [&](size_t i) {
    const Lane& lane = data.lanes[i];
    if (lane.series.size() < 2 || lane.series.size() > kMostRanks) return;
    matched[i] =
        lane.p2p ? TransferMatcher(data, lane).Match() : CollectiveMatcher(data, lane).Match();
  });
  return matched;
}

}  // namespace telltale::collectives
