#include "collectives/findings_late.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "collectives/findings_statistics.h"

namespace telltale::collectives {
namespace {

// A margin counts from a tenth of the operation on, and not below what clocks of 1 us can show.
constexpr double kLeastShare = 0.1;
constexpr double kLeastMarginUs = 5;
constexpr double kMissWeight = 0.6;  // the best window has hits in at least 3 of 8 operations
constexpr double kDiscoveryRate = 1e-6;
constexpr double kClear = -14;  // log p of a rank that is late beyond doubt

struct Hit {
  size_t operation;
  size_t local;  // place among the matched operations that the rank recorded
  double margin_us;
};

// How rarely a margin is as large as one outside the window: a Laplace distribution of its
// logarithm, whose tail is heavier than that of any real wait.
struct MarginModel {
  bool known = false;
  double middle = 0;
  double scale = 1;
  double LogTail(double margin_us) const {
    if (!known) return 0;
    return -std::max(0.0, (std::log(margin_us) - middle) / scale);
  }
};

// `second_us`: by operation, what the least time is held against.
MarginModel ModelOutside(const MatchedLane& lane, std::span<const float> second_us, size_t first,
                         size_t last) {
  constexpr size_t kFewest = 5;
  constexpr size_t kEnough = 4096;
  std::vector<double> logs;
  const size_t stride = lane.size() / kEnough + 1;
  for (size_t i = 0; i < lane.size(); i += stride) {
    if (i >= first && i <= last) continue;
    logs.push_back(std::log(std::max(1.0, static_cast<double>(second_us[i] - lane.least_us[i]))));
  }
  MarginModel model;
  if (logs.size() < kFewest || logs.size() * stride * 5 < lane.size()) return model;
  model.known = true;
  model.middle = MedianOf(logs);
  double away = 0;
  for (const double log : logs) away += std::abs(log - model.middle);
  model.scale = std::max(0.7, away / static_cast<double>(logs.size()));
  return model;
}

class LaneSearch {
 public:
  LaneSearch(const RunData& data, uint32_t lane, const MatchedLane& matched)
      : data_(data), index_(lane), lane_(data.lanes[lane]), matched_(matched) {
    std::vector<double> least(matched.least_us.begin(), matched.least_us.end());
    material_us_ = std::max(kLeastMarginUs, kLeastShare * MedianOf(least));
    counts_.assign(matched.size(), true);
    FindUsualSecond();
  }

  // The clearest first: where its record is lost, the next to last looks like the last one, so that
  // the others are judged by the operations in which it was seen.
  std::vector<LateCandidate> Search() {
    std::vector<LateCandidate> clear;
    for (;;) {
      std::vector<LateCandidate> found = JudgeAll(clear);
      const auto clearest =
          std::min_element(found.begin(), found.end(),
                           [](const auto& a, const auto& b) { return a.log_p < b.log_p; });
      if (clearest == found.end() || clearest->log_p > kClear) {
        found.insert(found.end(), clear.begin(), clear.end());
        return found;
      }
      clear.push_back(*clearest);
      LeaveOut(*clearest);
    }
  }

 private:
  bool MissesRanks(size_t operation) const {
    return matched_.present[operation] < data_.communicators[lane_.communicator].n_ranks;
  }

  // Ranks come in twos where they come out of smaller communicators, with next to no margin between
  // them. Where the record of one of the two is missing, the other is last alone twice as often as
  // the rest, and its margin is that of a group to the next.
  void FindUsualSecond() {
    constexpr float kTogetherUs = 2;
    constexpr float kTogether = 1.03F;
    usual_second_us_ = matched_.second_us;
    bool any_missing = false;
    for (size_t i = 0; i < matched_.size(); ++i) {
      if (!MissesRanks(i)) continue;
      usual_second_us_[i] = matched_.most_us[i];
      any_missing = true;
    }
    if (!any_missing) return;
    for (const SeriesData& series : lane_.series) {
      const auto own = data_.Sequences(series);
      const auto times = data_.Times(series);
      size_t at = 0;
      for (size_t i = 0; i < matched_.size(); ++i) {
        if (!MissesRanks(i)) continue;
        while (at < own.size() && own[at] < matched_.sequence[i]) ++at;
        if (at == own.size()) break;
        const auto time = static_cast<float>(times[at]);
        if (own[at] == matched_.sequence[i] &&
            time > kTogether * matched_.least_us[i] + kTogetherUs) {
          usual_second_us_[i] = std::min(usual_second_us_[i], time);
        }
      }
    }
  }

  // All ranks but the known.
  std::vector<LateCandidate> JudgeAll(const std::vector<LateCandidate>& known) const {
    std::map<uint16_t, std::vector<Hit>> hits;
    for (size_t i = 0; i < matched_.size(); ++i) {
      const double margin = matched_.second_us[i] - matched_.least_us[i];
      if (counts_[i] && margin >= material_us_) hits[matched_.last[i]].push_back({i, 0, margin});
    }
    std::vector<LateCandidate> candidates;
    for (auto& [slot, of_rank] : hits) {
      const uint32_t member = lane_.series[slot].member;
      const bool is_known = std::any_of(known.begin(), known.end(), [&](const auto& candidate) {
        return candidate.member == member;
      });
      if (of_rank.size() < 2 || is_known) continue;
      if (const auto candidate = Judge(slot, of_rank)) candidates.push_back(*candidate);
    }
    return candidates;
  }

  void LeaveOut(const LateCandidate& late) {
    const auto own = data_.SequencesOf(lane_, late.member);
    for (size_t i = late.first; i <= late.last; ++i) {
      counts_[i] = counts_[i] && Has(own, matched_.sequence[i]);
    }
  }

  std::optional<LateCandidate> Judge(uint16_t slot, std::vector<Hit>& hits) const {
    // Operations that no other rank recorded say nothing of it.
    const auto own = data_.Sequences(lane_.series[slot]);
    size_t at = 0, local = 0, next = 0;
    for (size_t i = 0; i < matched_.size(); ++i) {
      while (at < own.size() && own[at] < matched_.sequence[i]) ++at;
      if (next < hits.size() && hits[next].operation == i) hits[next++].local = local;
      local += counts_[i] && at < own.size() && own[at] == matched_.sequence[i] ? 1 : 0;
    }
    // Hits weigh 1, the rank's own operations between them take away.
    double sum = 0, best = 0;
    size_t start = 0, first = 0, last = 0;
    for (size_t i = 0; i < hits.size(); ++i) {
      if (i > 0) sum -= kMissWeight * static_cast<double>(hits[i].local - hits[i - 1].local - 1);
      if (sum <= 0) {
        sum = 0;
        start = i;
      }
      sum += 1;
      if (sum > best) {
        best = sum;
        first = start;
        last = i;
      }
    }
    if (last == first) return std::nullopt;
    return Test(slot, local, std::span(hits).subspan(first, last - first + 1),
                hits.size() - (last - first + 1));
  }

  // Where no rank is to blame, each is as likely to come last as any other, or as it is outside the
  // window, and margins are what they are elsewhere.
  LateCandidate Test(uint16_t slot, size_t recorded, std::span<const Hit> hits,
                     size_t hits_outside) const {
    const MarginModel model =
        ModelOutside(matched_, usual_second_us_, hits.front().operation, hits.back().operation);
    LateCandidate candidate;
    candidate.lane = index_;
    candidate.member = lane_.series[slot].member;
    candidate.first = hits.front().operation;
    candidate.last = hits.back().operation;
    candidate.hits = hits.size();
    const size_t range = hits.back().local - hits.front().local + 1;
    candidate.misses = range - hits.size();
    const auto outside = static_cast<double>(recorded - std::min(recorded, range));
    std::vector<double> margins, least;
    for (const Hit& hit : hits) {
      const double ranks = matched_.present[hit.operation];
      const double usual = (static_cast<double>(hits_outside) + 1) / (outside + ranks);
      const double share = std::max(usual, (MissesRanks(hit.operation) ? 2.0 : 1.0) / ranks);
      candidate.log_p += model.LogTail(hit.margin_us) + std::log(std::min(1.0, share));
      margins.push_back(hit.margin_us);
      least.push_back(matched_.least_us[hit.operation]);
    }
    // Windows that are at least as long, and as many lengths as there are powers of two: whoever is
    // late all the time was not sought out.
    const double windows =
        0.5 * (outside + 1) * (outside + 2) * (1 + std::log2(static_cast<double>(recorded) + 1));
    candidate.log_p += LogChoose(static_cast<double>(range), static_cast<double>(hits.size())) +
                       std::log(std::max(1.0, windows));
    candidate.margin_us = MedianOf(margins);
    candidate.spread = SpreadAround(margins, candidate.margin_us) / candidate.margin_us;
    candidate.intrinsic_us = MedianOf(least);
    candidate.first_progress = matched_.Progress(lane_, candidate.first);
    candidate.last_progress = matched_.Progress(lane_, candidate.last);
    return candidate;
  }

  const RunData& data_;
  uint32_t index_;
  const Lane& lane_;
  const MatchedLane& matched_;
  double material_us_ = 0;
  // By operation: the second shortest time, or that of the next group where ranks are missing.
  std::vector<float> usual_second_us_;
  std::vector<bool> counts_;  // of operations
};

// What each operation of a communicator says of a rank is little where records are lost; together
// it is more (Fisher's method).
void CombineLanes(const RunData& data, std::vector<LateCandidate>& candidates) {
  constexpr double kLeastOwn = -6;   // log p of a lane that is to count
  std::map<uint32_t, double> lanes;  // of each communicator
  for (const Lane& lane : data.lanes) {
    if (!lane.p2p) ++lanes[lane.communicator];
  }
  std::map<uint32_t, double> sum;  // of each member
  for (const LateCandidate& candidate : candidates) {
    sum[candidate.member] += std::min(0.0, candidate.log_p);
  }
  for (LateCandidate& candidate : candidates) {
    const double all = sum[candidate.member];
    double term = 1;
    double terms = 1;
    for (double i = 1; i < lanes[data.lanes[candidate.lane].communicator]; ++i) {
      term *= -all / i;
      terms += term;
    }
    if (candidate.log_p < kLeastOwn) {
      candidate.log_p = std::min(candidate.log_p, all + std::log(terms));
    }
  }
}

}  // namespace

LateSearch FindLate(const RunData& data, const std::vector<MatchedLane>& matched) {
  constexpr size_t kFewestOperations = 4;
  LateSearch found;
  for (uint32_t i = 0; i < data.lanes.size(); ++i) {
    if (data.lanes[i].p2p || matched[i].size() < kFewestOperations) continue;
    const std::vector<LateCandidate> of_lane = LaneSearch(data, i, matched[i]).Search();
    found.candidates.insert(found.candidates.end(), of_lane.begin(), of_lane.end());
    found.tests += static_cast<double>(data.lanes[i].series.size());
  }
  CombineLanes(data, found.candidates);
  std::vector<double> log_p;
  for (const LateCandidate& candidate : found.candidates) log_p.push_back(candidate.log_p);
  const double threshold = DiscoveryThreshold(log_p, std::max(1.0, found.tests), kDiscoveryRate);
  std::erase_if(found.candidates,
                [&](const LateCandidate& candidate) { return candidate.log_p > threshold; });
  return found;
}

}  // namespace telltale::collectives
