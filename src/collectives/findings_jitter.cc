#include "collectives/findings_jitter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/slices.h"
#include "collectives/findings_statistics.h"

namespace telltale::collectives {
namespace {

constexpr size_t kBins = 12;
constexpr size_t kFewestInBin = 6;
constexpr size_t kEnoughOperations = 1024;  // of a lane; more say nothing new
constexpr double kDiscoveryRate = 1e-6;
constexpr double kLeastShare = 0.15;  // of the operation's time, that the variation must have
constexpr double kLeastSpreadUs = 5;
// The operations of a lane follow computations of different length, which alone makes arrivals of
// one kind vary up to four times as much as those of another.
const double kLeastRatio = std::log(7.0);

struct SpreadBin {
  double log_spread = 0;
  double excess = 0;
  size_t first = 0, last = 0;  // operations of the lane
  size_t operations = 0;
};

struct RankSpread {
  uint32_t lane = 0;
  uint32_t slot = 0;
  std::vector<SpreadBin> bins;
};

// How each rank's arrival lies around the middle of all, a bin of operations at a time.
std::vector<RankSpread> SpreadsOf(const RunData& data, uint32_t index, const MatchedLane& matched) {
  const Lane& lane = data.lanes[index];
  const size_t ranks = lane.series.size();
  const size_t stride = (matched.size() - 1) / kEnoughOperations + 1;
  const size_t used = (matched.size() - 1) / stride + 1;
  const size_t bins = std::clamp<size_t>(used / (2 * kFewestInBin), 1, kBins);
  std::vector<RankSpread> spreads(ranks);
  std::vector<size_t> cursor(ranks, 0);
  std::vector<std::vector<double>> arrivals(ranks);
  std::vector<double> times, present;
  for (uint32_t slot = 0; slot < ranks; ++slot) {
    spreads[slot].lane = index;
    spreads[slot].slot = slot;
  }
  for (size_t b = 0; b < bins; ++b) {
    for (auto& of_rank : arrivals) of_rank.clear();
    const size_t first = b * used / bins;
    const size_t end = (b + 1) * used / bins;
    for (size_t k = first; k < end; ++k) {
      const uint32_t sequence = matched.sequence[k * stride];
      times.assign(ranks, -1);
      present.clear();
      for (size_t slot = 0; slot < ranks; ++slot) {
        const auto own = data.Sequences(lane.series[slot]);
        size_t& at = cursor[slot];
        while (at < own.size() && own[at] < sequence) ++at;
        if (at == own.size() || own[at] != sequence) continue;
        times[slot] = data.Times(lane.series[slot])[at];
        present.push_back(times[slot]);
      }
      if (present.size() < 2 || 2 * present.size() < ranks) continue;
      double middle = MedianOf(present);
      if (present.size() == 2) middle = (present[0] + present[1]) / 2;
      for (size_t slot = 0; slot < ranks; ++slot) {
        if (times[slot] >= 0) arrivals[slot].push_back(middle - times[slot]);
      }
    }
    for (size_t slot = 0; slot < ranks; ++slot) {
      if (arrivals[slot].size() < kFewestInBin) continue;
      SpreadBin bin;
      bin.operations = arrivals[slot].size();
      const std::vector<double> kept = arrivals[slot];
      bin.log_spread = std::log(std::max(1.0, SpreadAround(kept, MedianOf(arrivals[slot]))));
      bin.first = first * stride;
      bin.last = std::min(matched.size(), end * stride) - 1;
      spreads[slot].bins.push_back(bin);
    }
  }
  return spreads;
}

using Family = std::tuple<std::string, uint64_t, std::string, int64_t, uint64_t>;

Family FamilyOf(const RunData& data, const Lane& lane) {
  const CommunicatorData& communicator = data.communicators[lane.communicator];
  return {lane.operation, lane.bytes, lane.variant, communicator.n_ranks, communicator.nnodes};
}

// Sets each bin's excess over what is normal in its family; returns how much a healthy one may
// have, which is read from the lower half, because faults only add.
double SetExcess(std::vector<RankSpread*>& family) {
  std::vector<double> values;
  for (const RankSpread* spread : family) {
    for (const SpreadBin& bin : spread->bins) values.push_back(bin.log_spread);
  }
  const double low = QuantileOf(values, 0.1);
  const double high = QuantileOf(values, 0.4);
  const double normal = QuantileOf(values, 0.25);
  for (RankSpread* spread : family) {
    for (SpreadBin& bin : spread->bins) bin.excess = bin.log_spread - normal;
  }
  constexpr double kQuantiles = 1.03;  // standard deviations between these quantiles
  constexpr double kStandardDeviations = 4;
  return std::max(kLeastRatio, kStandardDeviations * (high - low) / kQuantiles);
}

// The communicators that set somebody's pace: those in which it has most operations. Elsewhere,
// arrivals differ by role (pipeline stages end one after the other) and show what happened before.
std::vector<bool> PacingCommunicators(const RunData& data,
                                      const std::vector<MatchedLane>& matched) {
  std::vector<size_t> operations(data.communicators.size());
  for (size_t i = 0; i < data.lanes.size(); ++i) {
    if (!data.lanes[i].p2p) operations[data.lanes[i].communicator] += matched[i].size();
  }
  std::vector<uint32_t> of_entity(data.entities.size());
  std::vector<bool> known(data.entities.size());
  for (const Member& member : data.members) {
    uint32_t& pacing = of_entity[member.entity];
    if (!known[member.entity] || operations[member.communicator] > operations[pacing])
      pacing = member.communicator;
    known[member.entity] = true;
  }
  std::vector<bool> paces(data.communicators.size());
  for (const uint32_t communicator : of_entity) {
    if (!data.entities.empty()) paces[communicator] = true;
  }
  return paces;
}

}  // namespace

std::vector<JitterCandidate> FindJitter(const RunData& data,
                                        const std::vector<MatchedLane>& matched, unsigned threads) {
  std::vector<std::vector<RankSpread>> by_lane(data.lanes.size());
  const std::vector<bool> paces = PacingCommunicators(data, matched);
  ForEachInTurn(data.lanes.size(), threads, 1, [&](size_t i) {
    if (!data.lanes[i].p2p && paces[data.lanes[i].communicator] &&
        matched[i].size() >= kFewestInBin) {
      by_lane[i] = SpreadsOf(data, static_cast<uint32_t>(i), matched[i]);
    }
  });

  std::map<Family, std::vector<RankSpread*>> families;
  for (uint32_t i = 0; i < by_lane.size(); ++i) {
    for (RankSpread& spread : by_lane[i]) {
      if (!spread.bins.empty()) families[FamilyOf(data, data.lanes[i])].push_back(&spread);
    }
  }
  std::vector<JitterCandidate> candidates;
  std::vector<double> log_p;
  double tests = 1;
  for (auto& [family, members] : families) {
    const double least = SetExcess(members);
    for (const RankSpread* spread : members) {
      ++tests;
      std::vector<double> above;
      for (const SpreadBin& bin : spread->bins)
        above.push_back(std::min(bin.excess, 3.0) - kLeastRatio / 2);
      const Window window = BestWindow(above);
      if (window.sum <= 0) continue;
      const Lane& lane = data.lanes[spread->lane];
      const MatchedLane& operations = matched[spread->lane];
      JitterCandidate candidate;
      candidate.lane = spread->lane;
      candidate.member = lane.series[spread->slot].member;
      candidate.entity = data.members[candidate.member].entity;
      std::vector<double> excess, spreads;
      for (size_t b = window.first; b <= window.last; ++b) {
        excess.push_back(spread->bins[b].excess);
        spreads.push_back(std::exp(spread->bins[b].log_spread));
        candidate.operations += spread->bins[b].operations;
      }
      const double middle = MedianOf(excess);
      candidate.ratio = std::exp(middle);
      candidate.spread_us = MedianOf(spreads);
      candidate.first = spread->bins[window.first].first;
      candidate.last = spread->bins[window.last].last;
      candidate.first_progress = operations.Progress(lane, candidate.first);
      candidate.last_progress = operations.Progress(lane, candidate.last);
      std::vector<double> intrinsic(operations.least_us.begin(), operations.least_us.end());
      candidate.intrinsic_us = MedianOf(intrinsic);
      if (middle < least || candidate.spread_us < kLeastSpreadUs ||
          candidate.spread_us < kLeastShare * candidate.intrinsic_us) {
        continue;
      }
      // A median absolute deviation of n values varies by 1.2 / sqrt(n), relatively.
      const double z = middle * std::sqrt(static_cast<double>(candidate.operations)) / 1.2;
      const auto bins = static_cast<double>(spread->bins.size());
      candidate.log_p = LogNormalTail(z) + std::log(0.5 * bins * (bins + 1));
      candidates.push_back(candidate);
      log_p.push_back(candidate.log_p);
    }
  }
  const double threshold = DiscoveryThreshold(log_p, tests, kDiscoveryRate);
  std::erase_if(candidates,
                [&](const JitterCandidate& candidate) { return candidate.log_p > threshold; });
  return candidates;
}

}  // namespace telltale::collectives
