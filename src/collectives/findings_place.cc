#include "collectives/findings_place.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "collectives/findings_statistics.h"

namespace telltale::collectives {
namespace {

const double kLeastExcess = std::log(1.08);
const double kLeastRatio = std::log(1.10);  // of a cause that is named

// Lanes that share a path: a communicator's collectives, or its transfers between two ranks.
struct Path {
  uint32_t communicator = 0;
  std::vector<uint32_t> units;
  std::vector<int32_t> hosts;
  bool slow = false;
  bool sound = false;  // would be slow if its link was, and is not
  double excess = 0;   // of its clearest unit
  double weight = 0;   // how clear that is
  uint32_t clearest = 0;
};

struct Hypothesis {
  FindingKind kind;
  int32_t communicator = -1;
  int32_t host = -1, other_host = -1;
  double covered = 0, denied = 0;
  double Score() const { return covered - 3 * denied; }
};

class PlaceSearch {
 public:
  PlaceSearch(const RunData& data, std::vector<SlowUnit> units)
      : data_(data), units_(std::move(units)) {}

  SlowSearch Search() {
    constexpr int kMostCauses = 12;
    for (int i = 0; i < kMostCauses; ++i) {
      const std::vector<SlowStretch> stretches = FindSlowStretches(units_);
      if (stretches.empty()) break;
      Explain(*std::max_element(stretches.begin(), stretches.end(), IsLessClear));
    }
    LeaveOutWhatComesAfter();
    return std::move(found_);
  }

 private:
  static bool IsLessClear(const SlowStretch& a, const SlowStretch& b) {
    return std::pair(-a.log_p, a.excess) < std::pair(-b.log_p, b.excess);
  }

  void Explain(const SlowStretch& seed) {
    const SlowUnit& unit = units_[seed.unit];
    FindPaths(unit.network, seed);
    SlowCause cause;
    cause.clearest = seed;
    cause.first_progress = seed.first_progress;
    cause.last_progress = seed.last_progress;
    Choose(unit, cause);
    std::vector<double> excesses;
    for (const Path& path : paths_) {
      if (!path.slow || !Covers(cause, path)) continue;
      excesses.push_back(path.excess);
      for (const uint32_t u : path.units) {
        const Excess excess = Between(u, seed);
        if (excess.mean < kLeastExcess) continue;
        cause.units.push_back(u);
        cause.operations += excess.operations;
      }
    }
    cause.excess = excesses.size() > 1 ? MedianOf(excesses) : seed.excess;
    cause.log_p = seed.log_p;
    cause.transfers = data_.lanes[unit.lane].p2p;
    cause.added_us = std::exp(unit.reference) * std::expm1(seed.excess);
    std::stable_partition(cause.units.begin(), cause.units.end(),
                          [&](uint32_t u) { return u == seed.unit; });
    Subtract(cause, seed);
    if (cause.excess < kLeastRatio) return;
    if (Absorb(cause)) return;
    if (MayWaitForUnseen(cause, seed)) {
      const CommunicatorData& communicator =
          data_.communicators[static_cast<size_t>(cause.communicator)];
      found_.not_known.push_back(
          {data_.name, "missing_rank", communicator.name,
           fmt::format(
               "{} of {} ranks of {} have no records: its operations take longer for a while, but "
               "whether it is slow or the others wait for a rank that cannot be seen is not known",
               communicator.n_ranks - static_cast<int64_t>(communicator.members.size()),
               communicator.n_ranks, communicator.name)});
      return;
    }
    if (const CommunicatorData* other = SoundOnSameRanks(cause)) {
      const std::string& name = data_.communicators[static_cast<size_t>(cause.communicator)].name;
      found_.not_known.push_back({data_.name, "contradiction", name,
                                  fmt::format("all ranks of {} wait alike for a while, but {}, "
                                              "which has the same ranks and links, is not "
                                              "slow: what they wait for was not recorded",
                                              name, other->name)});
      return;
    }
    found_.causes.push_back(std::move(cause));
  }

  // At much the same time.
  static bool AreNear(const SlowCause& one, const SlowCause& other) {
    constexpr double kNear = 0.1;
    return one.first_progress <= other.last_progress + kNear &&
           other.first_progress <= one.last_progress + kNear;
  }

  // What is left of a cause, because it is not the same everywhere and at its edges, is no second
  // one.
  bool Absorb(const SlowCause& cause) {
    if (cause.communicator >= 0) return false;
    for (SlowCause& known : found_.causes) {
      if (known.communicator >= 0) continue;
      const bool everywhere = known.kind == FindingKind::kCongestion;
      const bool same_host =
          cause.host >= 0 && (cause.host == known.host || cause.host == known.other_host);
      const bool same_other = cause.other_host >= 0 && (cause.other_host == known.host ||
                                                        cause.other_host == known.other_host);
      const bool weaker = cause.excess < 1.3 * known.excess;
      if (!AreNear(cause, known) || !weaker || !(everywhere || same_host || same_other)) continue;
      known.units.insert(known.units.end(), cause.units.begin(), cause.units.end());
      known.operations += cause.operations;
      return true;
    }
    return false;
  }

  // Who comes out of slow transfers is waited for in the next communicators. Where its records are
  // lost there, those that wait look slow themselves.
  void LeaveOutWhatComesAfter() {
    // Each is held against all, before any is left out.
    std::vector<SlowCause> kept;
    for (const SlowCause& cause : found_.causes) {
      const auto before =
          std::find_if(found_.causes.begin(), found_.causes.end(),
                       [&](const SlowCause& other) { return MayComeAfter(cause, other); });
      if (before == found_.causes.end()) {
        kept.push_back(cause);
        continue;
      }
      const auto name = [&](const SlowCause& of) {
        return data_.communicators[static_cast<size_t>(of.communicator)].name;
      };
      found_.not_known.push_back(
          {data_.name, "lost_records", name(cause),
           fmt::format("operations of {} take longer for a while, but records are lost, and they "
                       "may wait for ranks that come out of the slow {}",
                       name(cause), name(*before))});
    }
    found_.causes = std::move(kept);
  }

  bool MayComeAfter(const SlowCause& cause, const SlowCause& other) const {
    constexpr double kMostOfAdded = 3;  // of a transfer, by the clearest ones
    if (cause.communicator < 0 || !units_[cause.clearest.unit].lossy || other.communicator < 0 ||
        other.communicator == cause.communicator || !(other.log_p < cause.log_p) ||
        !AreNear(cause, other)) {
      return false;
    }
    const double between = OperationsOf(static_cast<uint32_t>(other.communicator), nullptr) /
                           OperationsOf(static_cast<uint32_t>(cause.communicator),
                                        &data_.lanes[units_[cause.clearest.unit].lane]);
    return cause.added_us <= kMostOfAdded * std::max(1.0, between) * other.added_us;
  }

  // Of that rank which recorded most; in one lane, or in all.
  double OperationsOf(uint32_t communicator, const Lane* only) const {
    std::map<uint32_t, uint64_t> of_member;
    for (const Lane& lane : data_.lanes) {
      if (lane.communicator != communicator || (only != nullptr && only != &lane)) continue;
      for (const SeriesData& series : lane.series) of_member[series.member] += series.count;
    }
    uint64_t most = 1;
    for (const auto& [member, count] : of_member) most = std::max(most, count);
    return static_cast<double>(most);
  }

  bool HasSiblings(const SlowCause& cause) const {
    const SlowUnit& own = units_[cause.clearest.unit];
    return std::any_of(units_.begin(), units_.end(), [&](const SlowUnit& unit) {
      return unit.family == own.family && unit.lane != own.lane;
    });
  }

  // If one kind of operation is all that is slow, no communicator does the same, and another one of
  // the same ranks is not slow, it isn't the link.
  const CommunicatorData* SoundOnSameRanks(const SlowCause& cause) const {
    if (cause.communicator < 0 || cause.units.size() > 1 || HasSiblings(cause)) return nullptr;
    const auto entities = [&](uint32_t communicator) {
      std::set<uint32_t> all;
      for (const uint32_t member : data_.communicators[communicator].members) {
        all.insert(data_.members[member].entity);
      }
      return all;
    };
    const std::set<uint32_t> own = entities(static_cast<uint32_t>(cause.communicator));
    for (const Path& path : paths_) {
      if (path.sound && path.communicator != static_cast<uint32_t>(cause.communicator) &&
          entities(path.communicator) == own) {
        return &data_.communicators[path.communicator];
      }
    }
    return nullptr;
  }

  Excess Between(uint32_t unit, const SlowStretch& seed) const {
    return ExcessBetween(units_[unit], seed.first_progress - 1e-9, seed.last_progress + 1e-9);
  }

  void FindPaths(bool network, const SlowStretch& seed) {
    std::map<std::tuple<uint32_t, int64_t, int64_t>, size_t> index;
    paths_.clear();
    for (uint32_t u = 0; u < units_.size(); ++u) {
      if (units_[u].network != network) continue;
      const Lane& lane = data_.lanes[units_[u].lane];
      const auto [at, is_new] = index.emplace(
          std::tuple(lane.communicator, lane.low_rank, lane.high_rank), paths_.size());
      if (is_new) {
        paths_.emplace_back().communicator = lane.communicator;
        paths_.back().hosts = units_[u].hosts;
      }
      paths_[at->second].units.push_back(u);
    }
    for (Path& path : paths_) Judge(path, seed);
  }

  // A path is slow if what its bandwidth decides is; lanes of few bytes tell nothing against it.
  void Judge(Path& path, const SlowStretch& seed) {
    double against = 0;
    for (const uint32_t u : path.units) {
      const Excess excess = Between(u, seed);
      if (excess.operations == 0) continue;
      const double counted = std::min<double>(64, static_cast<double>(excess.operations));
      const double error = 1.25 * units_[u].noise / std::sqrt(counted);
      constexpr double kClear = 3.5;
      if (u == seed.unit || (excess.mean >= kLeastExcess && excess.mean >= kClear * error)) {
        const double weight = excess.mean / error;
        if (!path.slow || weight > path.weight) {
          path.excess = excess.mean;
          path.weight = weight;
          path.clearest = u;
        }
        path.slow = true;
      } else if (!explained_.contains(u)) {
        // How slow it would be if its link was as slow as the seed's.
        const double expected =
            std::log1p(0.8 * units_[u].bandwidth_share * std::expm1(seed.excess));
        if (expected >= kLeastExcess && excess.mean < expected / 3)
          against = std::max(against, 1 / error);
      }
    }
    // One lane of several may be slow by chance or for its own reason.
    path.sound = !path.slow && against > 0;
  }

  bool Covers(const SlowCause& cause, const Path& path) const {
    return Covers(Hypothesis{cause.kind, cause.communicator, cause.host, cause.other_host}, path);
  }

  bool Covers(const Hypothesis& hypothesis, const Path& path) const {
    const auto touches = [&](int32_t host) {
      return std::binary_search(path.hosts.begin(), path.hosts.end(), host);
    };
    if (hypothesis.communicator >= 0) {
      return path.communicator == static_cast<uint32_t>(hypothesis.communicator);
    }
    if (hypothesis.other_host >= 0)
      return touches(hypothesis.host) && touches(hypothesis.other_host);
    if (hypothesis.host >= 0) return touches(hypothesis.host);
    return true;
  }

  // A link is used for sure only by what runs between these two hosts alone.
  bool Denies(const Hypothesis& hypothesis, const Path& path) const {
    if (!path.sound || !Covers(hypothesis, path)) return false;
    return hypothesis.other_host < 0 || path.hosts.size() == 2;
  }

  Hypothesis Scored(Hypothesis hypothesis) const {
    for (const Path& path : paths_) {
      if (path.slow && Covers(hypothesis, path)) ++hypothesis.covered;
      if (Denies(hypothesis, path)) ++hypothesis.denied;
    }
    return hypothesis;
  }

  void Choose(const SlowUnit& seed_unit, SlowCause& cause) {
    const auto communicator = static_cast<int32_t>(data_.lanes[seed_unit.lane].communicator);
    std::vector<Hypothesis> all = {Scored({FindingKind::kSlowLink, communicator})};
    if (seed_unit.network) {
      const std::vector<int32_t>& hosts = seed_unit.hosts;
      // Ends of a link are sought among the hosts of what runs between two hosts only.
      std::set<std::pair<int32_t, int32_t>> pairs;
      for (const Path& path : paths_) {
        if (path.slow && path.hosts.size() == 2) pairs.emplace(path.hosts[0], path.hosts[1]);
      }
      for (const auto& [one, other] : pairs) {
        if (std::binary_search(hosts.begin(), hosts.end(), one) &&
            std::binary_search(hosts.begin(), hosts.end(), other)) {
          all.push_back(Scored({FindingKind::kSlowLink, -1, one, other}));
        }
      }
      for (const int32_t host : hosts) all.push_back(Scored({FindingKind::kSlowHost, -1, host}));
      all.push_back(Scored({FindingKind::kCongestion}));
    }
    double best = 0;
    for (const Hypothesis& hypothesis : all) best = std::max(best, hypothesis.Score());
    std::erase_if(all,
                  [&](const Hypothesis& hypothesis) { return hypothesis.Score() < best - 1e-9; });
    Decide(all, cause);
  }

  // Of what explains as much, the smallest place, unless there are several of its kind.
  void Decide(const std::vector<Hypothesis>& all, SlowCause& cause) {
    if (all.empty()) {
      cause.communicator =
          static_cast<int32_t>(data_.lanes[units_[cause.clearest.unit].lane].communicator);
      return;
    }
    const auto count = [&](FindingKind kind, bool is_pair) {
      return std::count_if(all.begin(), all.end(), [&](const Hypothesis& h) {
        return h.kind == kind && (h.other_host >= 0) == is_pair;
      });
    };
    const Hypothesis* chosen = &all.front();
    const bool one_communicator = chosen->communicator >= 0;
    const auto hosts = count(FindingKind::kSlowHost, false);
    const auto pairs = count(FindingKind::kSlowLink, true);
    const bool congestion = count(FindingKind::kCongestion, false) > 0;
    if (!one_communicator) {
      for (const Hypothesis& hypothesis : all) {
        if (hosts == 1 && hypothesis.kind == FindingKind::kSlowHost) chosen = &hypothesis;
        if (hosts != 1 && pairs == 1 && !congestion && hypothesis.other_host >= 0)
          chosen = &hypothesis;
        if (hosts != 1 && congestion && hypothesis.kind == FindingKind::kCongestion)
          chosen = &hypothesis;
      }
      cause.hosts_cannot_be_told_apart = hosts > 1;
    }
    cause.kind = chosen->kind;
    cause.communicator = chosen->communicator;
    cause.host = chosen->host;
    cause.other_host = chosen->other_host;
    const bool no_choice = !one_communicator && chosen == &all.front() &&
                           chosen->kind != FindingKind::kCongestion && (hosts > 1 || pairs > 1);
    if (no_choice) {
      cause.kind = FindingKind::kSlowCommunicator;
    } else if (one_communicator && !AnyTelling(*chosen)) {
      cause.kind = FindingKind::kSlowCommunicator;  // what is slow is not its bandwidth
    }
  }

  bool AnyTelling(const Hypothesis& hypothesis) const {
    for (const Path& path : paths_) {
      if (!path.slow || !Covers(hypothesis, path)) continue;
      for (const uint32_t u : path.units) {
        if (units_[u].bandwidth_share >= 0.3) return true;
      }
    }
    return false;
  }

  void Subtract(const SlowCause& cause, const SlowStretch& seed) {
    for (const Path& path : paths_) {
      if (!Covers(cause, path)) continue;
      for (const uint32_t u : path.units) {
        const Excess excess = Between(u, seed);
        // A communicator's own slowness may hide a common one; a common one leaves what is beyond
        // it.
        const double explained =
            cause.communicator >= 0 ? excess.mean : std::min(excess.mean, cause.excess * 1.2);
        TakeAway(units_[u], seed, std::max(0.0, explained), cause.communicator >= 0);
        explained_.insert(u);
      }
    }
    // The seed itself must never come again for the same stretch.
    TakeAway(units_[seed.unit], seed, 0, Between(seed.unit, seed).mean >= seed.excess);
  }

  static void TakeAway(SlowUnit& unit, const SlowStretch& seed, double amount, bool all) {
    // A bin at the edge may lie partly inside, and progress is not quite the same everywhere.
    constexpr double kSlack = 0.04;
    const double margin = std::max(kSlack, 1.01 / static_cast<double>(unit.bins.size()));
    for (Bin& bin : unit.bins) {
      const bool inside =
          bin.progress >= seed.first_progress - 1e-9 && bin.progress <= seed.last_progress + 1e-9;
      const bool edge = !inside && bin.progress >= seed.first_progress - margin &&
                        bin.progress <= seed.last_progress + margin;
      if (edge || (inside && all)) bin.excess = std::min(bin.excess, 0.0);
      if (inside && !all) bin.excess -= amount;
    }
  }

  // Waiting for a rank that nobody sees adds the same to all sizes; a slow link adds more to larger
  // ones.
  bool MayWaitForUnseen(const SlowCause& cause, const SlowStretch& seed) const {
    if (cause.communicator < 0) return false;
    if (data_.communicators[static_cast<size_t>(cause.communicator)].HasAllRanks()) return false;
    double largest = 0, largest_added = 0;
    for (const uint32_t u : cause.units) {
      const double time = std::exp(units_[u].reference);
      if (time > largest) {
        largest = time;
        largest_added = time * std::expm1(u == seed.unit ? seed.excess : cause.excess);
      }
    }
    for (const Path& path : paths_) {
      if (!Covers(cause, path)) continue;
      for (const uint32_t u : path.units) {
        const double time = std::exp(units_[u].reference);
        const bool seen = std::find(cause.units.begin(), cause.units.end(), u) != cause.units.end();
        if (time < largest / 3 && !seen && largest_added > time / 4) return false;
      }
    }
    return true;
  }

  const RunData& data_;
  std::vector<SlowUnit> units_;
  std::vector<Path> paths_;
  std::set<uint32_t> explained_;
  SlowSearch found_;
};

}  // namespace

SlowSearch FindSlowPlaces(const RunData& data, std::vector<SlowUnit> units) {
  return PlaceSearch(data, std::move(units)).Search();
}

}  // namespace telltale::collectives
