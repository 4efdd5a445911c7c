#include "collectives/findings_slow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "collectives/findings_statistics.h"

namespace telltale::collectives {
namespace {

constexpr size_t kMostBins = 48;
constexpr size_t kFewestOperations = 3;
constexpr size_t kFewestIfIncomplete = 8;
constexpr double kLeastNoise = 0.02;
constexpr double kDiscoveryRate = 1e-4;
const double kLeastExcess = std::log(1.08);
const double kLeastIfLossy = std::log(1.13);
constexpr double kLeastAddedUs = 5;  // clocks show 1 us

// What must be alike for times to be compared.
using Family = std::tuple<std::string, uint64_t, std::string, int64_t, uint64_t, bool>;

Family FamilyOf(const RunData& data, const SlowUnit& unit) {
  const Lane& lane = data.lanes[unit.lane];
  const CommunicatorData& communicator = data.communicators[lane.communicator];
  return {lane.operation,       lane.bytes,          lane.variant,
          communicator.n_ranks, communicator.nnodes, unit.network};
}

std::vector<int32_t> HostsOf(const RunData& data, const Lane& lane) {
  std::set<int32_t> hosts;
  for (const SeriesData& series : lane.series)
    hosts.insert(data.EntityOf(series.member).host_index);
  return {hosts.begin(), hosts.end()};
}

// A late rank, and for how long.
struct Absence {
  uint32_t member;
  double first_progress, last_progress;
};

// Operations of the lane in which all late ranks were seen, at the times when they were late.
std::vector<uint32_t> UsableOperations(const RunData& data, const Lane& lane,
                                       const MatchedLane& matched,
                                       const std::vector<Absence>& late) {
  std::vector<uint32_t> usable;
  const auto n_ranks = static_cast<uint64_t>(data.communicators[lane.communicator].n_ranks);
  for (uint32_t i = 0; i < matched.size(); ++i) {
    bool keep = true;
    for (const Absence& absence : late) {
      if (matched.present[i] == n_ranks) break;
      const double progress = matched.Progress(lane, i);
      if (progress < absence.first_progress || progress > absence.last_progress) continue;
      for (const SeriesData& series : lane.series) {
        if (series.member != absence.member) continue;
        const auto own = data.Sequences(series);
        keep = keep && std::binary_search(own.begin(), own.end(), matched.sequence[i]);
      }
    }
    if (keep) usable.push_back(i);
  }
  return usable;
}

// Where records are lost, so is that of the last rank now and then, and the shortest time that is
// left is one with a wait in it. That does no harm where waits are short: then operations stay like
// their neighbours.
bool IsEven(const MatchedLane& matched) {
  constexpr size_t kReach = 2;
  constexpr double kMost = 0.08;
  constexpr double kPart = 0.85;
  std::vector<double> away, near;
  for (size_t i = kReach; i + kReach < matched.size(); ++i) {
    near.assign(matched.least_us.begin() + static_cast<std::ptrdiff_t>(i - kReach),
                matched.least_us.begin() + static_cast<std::ptrdiff_t>(i + kReach + 1));
    away.push_back(std::abs(std::log(static_cast<double>(matched.least_us[i]) / MedianOf(near))));
  }
  return away.size() >= kFewestIfIncomplete && QuantileOf(away, kPart) < kMost;
}

// Bins of equal numbers of operations. Where ranks are missing now and then, the shortest times are
// those in which the last rank was seen.
void FillBins(const Lane& lane, const MatchedLane& matched, const std::vector<uint32_t>& usable,
              SlowUnit& unit) {
  const size_t count = usable.size();
  const size_t fewest = unit.complete ? 1 : 8;
  const size_t bins = std::clamp<size_t>(count / fewest, 1, kMostBins);
  std::vector<double> logs, residuals;
  double before = std::numeric_limits<double>::quiet_NaN();
  for (size_t b = 0; b < bins; ++b) {
    Bin bin;
    const size_t first = b * count / bins;
    const size_t last = (b + 1) * count / bins - 1;
    bin.first = usable[first];
    bin.last = usable[last];
    logs.clear();
    double progress = 0;
    for (size_t i = first; i <= last; ++i) {
      logs.push_back(std::log(static_cast<double>(matched.least_us[usable[i]])));
      progress += matched.Progress(lane, usable[i]);
    }
    const std::vector<double> values = logs;
    bin.operations = logs.size();
    bin.progress = progress / static_cast<double>(logs.size());
    bin.excess = unit.complete ? MedianOf(logs) : QuantileOf(logs, 0.15);
    for (const double value : values) {
      // The step from one operation to the next shows the noise.
      if (unit.complete && !std::isnan(before)) {
        residuals.push_back((value - before) / std::sqrt(2.0));
      }
      if (!unit.complete) residuals.push_back(value - bin.excess);
      before = value;
    }
    unit.bins.push_back(bin);
  }
  // Only GPU timers are exact; callbacks on the host come when they come.
  const bool gpu_timed = lane.variant.find("kernel_gpu") != std::string::npos;
  // Of incomplete operations only the lower half is sure to be times, and not waits.
  constexpr double kQuantiles = 0.78;  // standard deviations between the quantiles 0.15 and 0.4
  constexpr double kLeastIfIncomplete = 0.035;
  constexpr double kLossyNoise = 0.04;
  constexpr double kRoughNoise = 0.06;
  const double least = !matched.exact ? kRoughNoise : unit.lossy ? kLossyNoise : 0;
  const double spread = unit.complete
                            ? std::max(least, SpreadAround(residuals, 0))
                            : std::max(kLeastIfIncomplete, QuantileOf(residuals, 0.4) / kQuantiles);
  unit.noise = std::max(gpu_timed ? kLeastNoise : 5 * kLeastNoise, spread);
}

void SetReference(std::vector<SlowUnit*>& family) {
  std::vector<double> values, noises;
  for (const SlowUnit* unit : family) {
    for (const Bin& bin : unit->bins) values.push_back(bin.excess);
    noises.push_back(unit->noise);
  }
  const double noise = MedianOf(noises);
  constexpr double kClusterWidth = 0.05;
  const double reference = LowMode(std::move(values), kClusterWidth + noise);
  for (SlowUnit* unit : family) {
    unit->reference = reference;
    unit->noise = std::max(unit->noise, noise);
    for (Bin& bin : unit->bins) bin.excess -= reference;
  }
}

// Bandwidth decides where the bus bandwidth comes close to the best of the same kind. A host's
// ranks have a network card each, so the bandwidth of a communicator grows with its ranks on a
// host.
void FindShares(const RunData& data, std::vector<SlowUnit>& units) {
  constexpr uint64_t kLeastBytes = 128 << 10;
  const auto bandwidth = [&](const SlowUnit& unit) {
    const Lane& lane = data.lanes[unit.lane];
    const CommunicatorData& communicator = data.communicators[lane.communicator];
    const double per_host =
        lane.p2p ? 1
                 : static_cast<double>(communicator.n_ranks) /
                       static_cast<double>(std::max<uint64_t>(1, communicator.nnodes));
    return lane.bus_bytes / std::exp(unit.reference) / per_host;
  };
  // All transfers of a rank share its card: they are compared with those of like communicators.
  using Kind = std::tuple<bool, bool, int64_t>;
  const auto kind = [&](const SlowUnit& unit) {
    const Lane& lane = data.lanes[unit.lane];
    return Kind(unit.network, lane.p2p,
                lane.p2p ? data.communicators[lane.communicator].n_ranks : 0);
  };
  std::map<Kind, double> best;
  for (const SlowUnit& unit : units) {
    double& most = best[kind(unit)];
    most = std::max(most, bandwidth(unit));
  }
  for (SlowUnit& unit : units) {
    const double most = best[kind(unit)];
    if (data.lanes[unit.lane].bytes >= kLeastBytes && most > 0)
      unit.bandwidth_share = bandwidth(unit) / most;
  }
}

double LogWindows(size_t bins) {
  const auto n = static_cast<double>(bins);
  return std::log(std::max(1.0, 0.5 * n * (n + 1)));
}

Excess ExcessIn(const SlowUnit& unit, double first_progress, double last_progress);

// Where records are lost, the last rank may be missing in all operations of some bins. Those that
// wait for it wait unevenly.
bool MayBeWaiting(const SlowUnit& unit, const SlowStretch& stretch, const Excess& excess) {
  constexpr double kUneven = 0.1;
  const double clear = std::log(1.6);
  if (stretch.excess < kLeastIfLossy || excess.bins < kFewestOperations) return true;
  if (excess.operations >= 2 * kFewestOperations) return false;
  const auto is_even = [&](const Bin& bin) {
    return std::abs(bin.excess - stretch.excess) < kUneven * stretch.excess;
  };
  const auto first = unit.bins.begin() + static_cast<std::ptrdiff_t>(stretch.first_bin);
  const auto end = unit.bins.begin() + static_cast<std::ptrdiff_t>(stretch.last_bin) + 1;
  return excess.operations <= kFewestOperations || stretch.excess < clear ||
         !std::all_of(first, end, is_even);
}

// The stretch of a unit that is slowest, not tested yet; without operations if there is none.
SlowStretch SlowestStretch(const SlowUnit& unit) {
  SlowStretch stretch;
  std::vector<double> above;
  for (const Bin& bin : unit.bins) above.push_back(std::min(bin.excess, 1.0) - kLeastExcess / 2);
  Window window = BestWindow(above);
  if (window.sum <= 0) return stretch;
  // Once it is known how slow, the edges lie where it is half as slow.
  std::vector<double> inside;
  for (size_t b = window.first; b <= window.last; ++b) inside.push_back(unit.bins[b].excess);
  const double half = MedianOf(inside) / 2;
  if (half > kLeastExcess / 2) {
    for (size_t b = 0; b < above.size(); ++b)
      above[b] = std::min(unit.bins[b].excess, 4 * half) - half;
    window = BestWindow(above);
    if (window.sum <= 0) return stretch;
  }
  stretch.first_bin = window.first;
  stretch.last_bin = window.last;
  stretch.first_progress = unit.bins[window.first].progress;
  stretch.last_progress = unit.bins[window.last].progress;
  const Excess excess = ExcessIn(unit, stretch.first_progress, stretch.last_progress);
  stretch.excess = excess.mean;
  if (stretch.excess < kLeastExcess || excess.operations < kFewestOperations) return stretch;
  if (std::expm1(stretch.excess) * std::exp(unit.reference) < kLeastAddedUs) return stretch;
  if (unit.lossy && MayBeWaiting(unit, stretch, excess)) return stretch;
  stretch.operations = excess.operations;
  // Operations follow each other on the same link, so that not all of them count.
  constexpr double kMostCounted = 64;
  const double counted = std::min(kMostCounted, static_cast<double>(stretch.operations));
  const double z = stretch.excess * std::sqrt(counted) / (1.25 * unit.noise);
  stretch.log_p = LogNormalTail(z) + LogWindows(unit.bins.size());
  return stretch;
}

void KeepDiscoveries(double tests, std::vector<SlowStretch>& stretches) {
  std::vector<double> log_p;
  for (const SlowStretch& stretch : stretches) log_p.push_back(stretch.log_p);
  const double threshold = DiscoveryThreshold(log_p, std::max(1.0, tests), kDiscoveryRate);
  std::erase_if(stretches, [&](const SlowStretch& stretch) { return stretch.log_p > threshold; });
}

// Siblings as one unit: its bins hold the mean of theirs at the same time.
SlowUnit Together(const std::vector<const SlowUnit*>& siblings) {
  constexpr size_t kBins = 24;
  SlowUnit all;
  std::vector<double> noises;
  std::vector<double> sums(kBins);
  all.bins.resize(kBins);
  for (size_t b = 0; b < kBins; ++b) all.bins[b].progress = (static_cast<double>(b) + 0.5) / kBins;
  for (const SlowUnit* unit : siblings) {
    noises.push_back(unit->noise);
    for (const Bin& bin : unit->bins) {
      const size_t b =
          std::min(kBins - 1, static_cast<size_t>(std::max(0.0, bin.progress) * kBins));
      all.bins[b].operations += bin.operations;
      sums[b] += bin.excess * static_cast<double>(bin.operations);
    }
  }
  for (size_t b = 0; b < kBins; ++b) {
    if (all.bins[b].operations > 0)
      all.bins[b].excess = sums[b] / static_cast<double>(all.bins[b].operations);
  }
  std::erase_if(all.bins, [](const Bin& bin) { return bin.operations == 0; });
  all.noise = MedianOf(noises);
  all.complete = siblings.front()->complete;
  all.lossy = siblings.front()->lossy;
  all.reference = siblings.front()->reference;
  return all;
}

std::vector<SlowStretch> FindTogether(const std::vector<SlowUnit>& units) {
  constexpr size_t kFewestSiblings = 3;
  std::map<uint32_t, std::vector<const SlowUnit*>> families;
  for (const SlowUnit& unit : units) families[unit.family].push_back(&unit);
  std::vector<SlowStretch> stretches;
  for (const auto& [family, siblings] : families) {
    if (siblings.size() < kFewestSiblings) continue;
    const SlowUnit all = Together(siblings);
    SlowStretch stretch = SlowestStretch(all);
    if (stretch.operations == 0) continue;
    // It is shown by the sibling that has most of it.
    double most = 0;
    for (const SlowUnit* unit : siblings) {
      const Excess excess = ExcessIn(*unit, stretch.first_progress, stretch.last_progress);
      if (excess.operations < kFewestOperations || excess.mean <= most) continue;
      most = excess.mean;
      stretch.unit = static_cast<uint32_t>(unit - units.data());
    }
    const std::vector<Bin>& bins = units[stretch.unit].bins;
    const auto inside = [&](const Bin& bin) {
      return bin.progress >= stretch.first_progress && bin.progress <= stretch.last_progress;
    };
    const auto first = std::find_if(bins.begin(), bins.end(), inside);
    const auto last = std::find_if(bins.rbegin(), bins.rend(), inside);
    if (most == 0 || first == bins.end()) continue;
    stretch.first_bin = static_cast<size_t>(first - bins.begin());
    stretch.last_bin = static_cast<size_t>(bins.rend() - last) - 1;
    stretches.push_back(stretch);
  }
  KeepDiscoveries(static_cast<double>(families.size()), stretches);
  return stretches;
}

Excess ExcessIn(const SlowUnit& unit, double first_progress, double last_progress) {
  Excess excess;
  std::vector<double> values;
  for (const Bin& bin : unit.bins) {
    if (bin.progress < first_progress || bin.progress > last_progress) continue;
    values.push_back(bin.excess);
    excess.operations += bin.operations;
  }
  excess.bins = values.size();
  excess.mean = MedianOf(values);
  return excess;
}

}  // namespace

std::vector<SlowUnit> MakeUnits(const RunData& data, const std::vector<MatchedLane>& matched,
                                const std::vector<LateCandidate>& late) {
  constexpr double kSlack = 0.03;
  constexpr double kComplete = 0.97;
  std::map<uint32_t, std::vector<Absence>> late_in;  // by communicator
  for (const LateCandidate& candidate : late) {
    late_in[data.lanes[candidate.lane].communicator].push_back(
        {candidate.member, candidate.first_progress - kSlack, candidate.last_progress + kSlack});
  }
  std::vector<SlowUnit> units;
  struct Lanes {
    size_t all = 0, usable = 0;  // usable: complete, or nothing changes if they are not
    bool AreComplete() const { return 10 * usable >= 9 * all; }
  };
  std::map<Family, Lanes> families_of;
  for (uint32_t i = 0; i < data.lanes.size(); ++i) {
    const Lane& lane = data.lanes[i];
    const CommunicatorData& communicator = data.communicators[lane.communicator];
    if (matched[i].size() < kFewestOperations || communicator.n_ranks < 2) continue;
    SlowUnit unit;
    unit.lane = i;
    unit.hosts = HostsOf(data, lane);
    unit.network = lane.p2p ? unit.hosts.size() > 1 : communicator.Crosses();
    // Siblings are measured alike.
    Lanes& siblings = families_of[FamilyOf(data, unit)];
    ++siblings.all;
    siblings.usable += matched[i].presence > kComplete || IsEven(matched[i]) ? 1 : 0;
    units.push_back(std::move(unit));
  }
  for (SlowUnit& unit : units) {
    const uint32_t i = unit.lane;
    const Lane& lane = data.lanes[i];
    const CommunicatorData& communicator = data.communicators[lane.communicator];
    unit.unseen = !lane.p2p && static_cast<int64_t>(lane.series.size()) < communicator.n_ranks;
    unit.complete = families_of[FamilyOf(data, unit)].AreComplete();
    unit.lossy = !unit.complete || matched[i].presence <= kComplete;
    const std::vector<uint32_t> usable =
        UsableOperations(data, lane, matched[i], late_in[lane.communicator]);
    if (usable.size() < (unit.complete ? kFewestOperations : kFewestIfIncomplete)) continue;
    unit.operations = usable.size();
    FillBins(lane, matched[i], usable, unit);
  }
  std::erase_if(units, [](const SlowUnit& unit) { return unit.bins.empty(); });
  std::map<Family, std::vector<SlowUnit*>> families;
  for (SlowUnit& unit : units) families[FamilyOf(data, unit)].push_back(&unit);
  uint32_t number = 0;
  for (auto& [family, members] : families) {
    for (SlowUnit* unit : members) unit->family = number;
    ++number;
    SetReference(members);
  }
  FindShares(data, units);
  return units;
}

Excess ExcessBetween(const SlowUnit& unit, double first_progress, double last_progress) {
  return ExcessIn(unit, first_progress, last_progress);
}

std::vector<SlowStretch> FindSlowStretches(const std::vector<SlowUnit>& units) {
  std::vector<SlowStretch> stretches;
  for (uint32_t u = 0; u < units.size(); ++u) {
    SlowStretch stretch = SlowestStretch(units[u]);
    if (stretch.operations == 0) continue;
    stretch.unit = u;
    stretches.push_back(stretch);
  }
  KeepDiscoveries(static_cast<double>(units.size()), stretches);
  return stretches.empty() ? FindTogether(units) : stretches;
}

}  // namespace telltale::collectives
