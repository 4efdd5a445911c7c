#include "collectives/findings_merge.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "collectives/findings_statistics.h"

namespace telltale::collectives {
namespace {

// Progress is the same time in different communicators only roughly.
constexpr double kSlack = 0.04;

template <typename A, typename B>
bool Overlap(const A& a, const B& b) {
  return a.first_progress <= b.last_progress + kSlack &&
         b.first_progress <= a.last_progress + kSlack;
}

// Which communicators an entity is in.
std::vector<std::vector<uint32_t>> CommunicatorsOf(const RunData& data) {
  std::vector<std::vector<uint32_t>> of_entity(data.entities.size());
  for (const Member& member : data.members) of_entity[member.entity].push_back(member.communicator);
  return of_entity;
}

std::vector<uint32_t> EntitiesOf(const RunData& data, uint32_t communicator) {
  std::vector<uint32_t> entities;
  for (const uint32_t member : data.communicators[communicator].members) {
    entities.push_back(data.members[member].entity);
  }
  return entities;
}

bool Contains(const std::vector<uint32_t>& communicators, uint32_t communicator) {
  return std::find(communicators.begin(), communicators.end(), communicator) != communicators.end();
}

// What a slow transfer adds to the arrival in the next communicator, at most, times its own.
constexpr double kMostOfAdded = 1.5;

// Whether one of these communicators, which an entity is in, was slow when the candidate was seen
// in another, `here`.
template <typename Candidate>
bool ComesOutOf(const SlowCause& cause, const std::vector<uint32_t>& communicators, uint32_t here,
                const Candidate& candidate) {
  const auto slow = static_cast<uint32_t>(cause.communicator);
  return cause.communicator >= 0 && slow != here && Overlap(cause, candidate) &&
         Contains(communicators, slow);
}

class LateMerger {
 public:
  LateMerger(const RunData& data, const std::vector<MatchedLane>& matched,
             const std::vector<LateCandidate>& candidates, const std::vector<SlowCause>& slow,
             const std::vector<JitterCandidate>& jitter)
      : data_(data),
        matched_(matched),
        slow_(slow),
        jitter_(jitter),
        communicators_(CommunicatorsOf(data)) {
    for (uint32_t i = 0; i < data.lanes.size(); ++i) {
      const Lane& lane = data.lanes[i];
      if (!lane.p2p) lanes_of_shape_[ShapeOf(lane)].push_back(i);
    }
    for (const LateCandidate& candidate : candidates) {
      if (!ExplainedByJitter(candidate)) of_entity_[EntityOf(candidate)].push_back(candidate);
    }
  }

  std::vector<LateCause> Merge() {
    std::map<uint32_t, std::vector<LateCandidate>> kept;
    std::map<int32_t, std::vector<LateCandidate>> hosts;
    for (const auto& [entity, candidates] : of_entity_) {
      for (const LateCandidate& candidate : candidates) {
        if (WaitedElsewhere(candidate) || CameOutOfSlowness(candidate)) continue;
        switch (CompanyOf(candidate)) {
          case Company::kNone:
            kept[entity].push_back(candidate);
            break;
          case Company::kHost:
            hosts[data_.entities[entity].host_index].push_back(candidate);
            break;
          case Company::kVictims:
            break;
        }
      }
    }
    std::vector<LateCause> causes;
    for (auto& [entity, candidates] : kept)
      causes.push_back(Cause(entity, false, std::move(candidates)));
    for (auto& [host, candidates] : hosts) {
      const uint32_t first = EntityOf(candidates.front());
      causes.push_back(Cause(first, true, std::move(candidates)));
    }
    return causes;
  }

 private:
  enum class Company { kNone, kVictims, kHost };
  using Shape = std::tuple<std::string, uint64_t, std::string, int64_t, uint64_t>;

  Shape ShapeOf(const Lane& lane) const {
    const CommunicatorData& communicator = data_.communicators[lane.communicator];
    return {lane.operation, lane.bytes, lane.variant, communicator.n_ranks, communicator.nnodes};
  }
  uint32_t EntityOf(const LateCandidate& candidate) const {
    return data_.members[candidate.member].entity;
  }
  uint32_t CommunicatorOf(const LateCandidate& candidate) const {
    return data_.lanes[candidate.lane].communicator;
  }
  int64_t SizeOf(uint32_t communicator) const { return data_.communicators[communicator].n_ranks; }

  bool ExplainedByJitter(const LateCandidate& candidate) const {
    constexpr double kUneven = 0.4;
    // Later than what varies can make it, over all operations since they last met.
    constexpr double kFar = 4;
    const uint32_t entity = EntityOf(candidate);
    for (const JitterCandidate& jitter : jitter_) {
      if (!Overlap(jitter, candidate)) continue;
      if (IsEvenBeside(candidate, jitter)) continue;
      const uint32_t where = data_.lanes[jitter.lane].communicator;
      const double between = OperationsBetween(jitter.entity, where, candidate);
      const double reach_us = kFar * std::sqrt(between) * jitter.spread_us;
      // So do those that wait for it in there, and come to the next communicator with it; who is
      // later than the others of them has a reason of its own.
      const bool elsewhere = where != CommunicatorOf(candidate);
      const bool waits = elsewhere && IsIn(entity, where) && !MeetsMates(candidate, where);
      if (jitter.entity == entity && IsLateBesides(candidate, jitter, kUneven)) continue;
      if (jitter.entity == entity || waits) {
        if (candidate.spread > kUneven || (elsewhere && candidate.margin_us < reach_us))
          return true;
      }
      // Of two ranks, one that comes early now and then makes the other look late.
      if (jitter.entity != entity && SizeOf(CommunicatorOf(candidate)) == 2 &&
          IsIn(jitter.entity, CommunicatorOf(candidate)) && candidate.margin_us < reach_us) {
        return true;
      }
    }
    return false;
  }

  // Whether it is late nearly each time, and varies much less than what comes of the jitter would.
  static bool IsEvenBeside(const LateCandidate& candidate, const JitterCandidate& jitter) {
    constexpr size_t kEnough = 8;  // to know how a margin varies
    return candidate.hits >= kEnough && 4 * candidate.misses <= candidate.hits &&
           candidate.spread * candidate.margin_us < jitter.spread_us / 4;
  }

  // Whether others of a communicator are in the candidate's too.
  bool MeetsMates(const LateCandidate& candidate, uint32_t communicator) const {
    constexpr int kEnough = 2;  // so that hardly ever all of their records are lost
    int mates = 0;
    for (const uint32_t entity : EntitiesOf(data_, communicator)) {
      mates += entity != EntityOf(candidate) && IsIn(entity, CommunicatorOf(candidate)) ? 1 : 0;
    }
    return mates >= kEnough;
  }

  // Whether it was as late before it varied, or afterwards, and evenly so.
  bool IsLateBesides(const LateCandidate& candidate, const JitterCandidate& jitter,
                     double uneven) const {
    constexpr size_t kFewest = 8;
    const Lane& lane = data_.lanes[candidate.lane];
    const MatchedLane& matched = matched_[candidate.lane];
    const auto own = data_.SequencesOf(lane, candidate.member);
    std::vector<double> margins;
    size_t recorded = 0;
    for (size_t i = candidate.first; i <= candidate.last; ++i) {
      const double progress = matched.Progress(lane, i);
      if (progress > jitter.first_progress - kSlack && progress < jitter.last_progress + kSlack)
        continue;
      if (!Has(own, matched.sequence[i])) continue;
      ++recorded;
      if (lane.series[matched.last[i]].member == candidate.member)
        margins.push_back(matched.second_us[i] - matched.least_us[i]);
    }
    if (margins.size() < kFewest || 2 * margins.size() < recorded) return false;
    const double typical = MedianOf(margins);
    return 2 * typical > candidate.margin_us && SpreadAround(margins, typical) < uneven * typical;
  }

  bool IsIn(uint32_t entity, uint32_t communicator) const {
    return Contains(communicators_[entity], communicator);
  }

  bool IsCandidateIn(uint32_t entity, uint32_t communicator, const LateCandidate& when) const {
    const auto at = of_entity_.find(entity);
    if (at == of_entity_.end()) return false;
    return std::any_of(at->second.begin(), at->second.end(), [&](const LateCandidate& other) {
      return CommunicatorOf(other) == communicator && Overlap(other, when);
    });
  }

  // In a smaller communicator it waited for another late rank, and then it came late here.
  bool WaitedElsewhere(const LateCandidate& candidate) const {
    const uint32_t entity = EntityOf(candidate);
    for (const uint32_t communicator : communicators_[entity]) {
      if (communicator == CommunicatorOf(candidate) ||
          SizeOf(communicator) >= SizeOf(CommunicatorOf(candidate)) ||
          IsCandidateIn(entity, communicator, candidate)) {
        continue;
      }
      for (const uint32_t other : EntitiesOf(data_, communicator)) {
        if (other != entity && IsCandidateIn(other, communicator, candidate)) return true;
      }
    }
    return false;
  }

  // Who comes out of a slow communicator is late in that of all ranks, and who received over a slow
  // link in any: by what each transfer took longer, at most, times those that there were in
  // between.
  bool CameOutOfSlowness(const LateCandidate& candidate) const {
    const uint32_t entity = EntityOf(candidate);
    const uint32_t here = CommunicatorOf(candidate);
    for (const SlowCause& cause : slow_) {
      if (!ComesOutOf(cause, communicators_[entity], here, candidate)) continue;
      if (static_cast<int32_t>(here) == data_.world) return true;
      const double between =
          OperationsBetween(entity, static_cast<uint32_t>(cause.communicator), candidate);
      if (cause.transfers && candidate.margin_us <= kMostOfAdded * between * cause.added_us)
        return true;
    }
    return false;
  }

  // Of a rank in another communicator, to each of the candidate's.
  double OperationsBetween(uint32_t entity, uint32_t communicator,
                           const LateCandidate& candidate) const {
    uint64_t operations = 0;
    for (const Lane& lane : data_.lanes) {
      if (lane.communicator != communicator) continue;
      for (const SeriesData& series : lane.series) {
        if (data_.members[series.member].entity == entity) operations += series.count;
      }
    }
    return std::max(1.0, static_cast<double>(operations) /
                             static_cast<double>(matched_[candidate.lane].size()));
  }

  // How often a rank came last by about as much as the candidate, of the operations that it
  // recorded then; nothing where it recorded none.
  std::optional<double> LateShare(uint32_t entity, uint32_t lane_index,
                                  const LateCandidate& candidate) const {
    constexpr double kAlike = 3;
    const Lane& lane = data_.lanes[lane_index];
    const MatchedLane& matched = matched_[lane_index];
    size_t slot = lane.series.size();
    for (size_t i = 0; i < lane.series.size(); ++i) {
      if (data_.members[lane.series[i].member].entity == entity) slot = i;
    }
    if (slot == lane.series.size()) return std::nullopt;
    const auto own = data_.Sequences(lane.series[slot]);
    // Where the candidate's record is lost, another rank looks like the last one.
    const auto candidates = data_.SequencesOf(lane, candidate.member);
    size_t late = 0;
    size_t recorded = 0;
    for (size_t i = 0; i < matched.size(); ++i) {
      const double progress = matched.Progress(lane, i);
      if (progress < candidate.first_progress - 1e-6 || progress > candidate.last_progress + 1e-6)
        continue;
      const bool last = matched.last[i] == slot;
      if (!last && !Has(own, matched.sequence[i])) continue;
      if (!candidates.empty() && !Has(candidates, matched.sequence[i])) continue;
      ++recorded;
      const double margin_us = matched.second_us[i] - matched.least_us[i];
      const bool alike =
          margin_us * kAlike >= candidate.margin_us && margin_us <= kAlike * candidate.margin_us;
      late += last && alike ? 1 : 0;
    }
    if (recorded == 0) return std::nullopt;
    return static_cast<double>(late) / static_cast<double>(recorded);
  }

  // As LateShare, in that communicator of the candidate's shape in which it was late most often.
  std::optional<double> LateShareAlike(uint32_t entity, const LateCandidate& candidate) const {
    std::optional<double> most;
    const auto lanes = lanes_of_shape_.find(ShapeOf(data_.lanes[candidate.lane]));
    for (const uint32_t lane : lanes->second) {
      if (!IsIn(entity, data_.lanes[lane].communicator)) continue;
      const std::optional<double> share = LateShare(entity, lane, candidate);
      if (share) most = std::max(most.value_or(0), *share);
    }
    return most;
  }

  // Whether the other ranks of one of its communicators are late in the same way, so that the cause
  // is theirs together: whoever comes out of a slow communicator is late in the next one.
  Company CompanyOf(const LateCandidate& candidate) const {
    const uint32_t entity = EntityOf(candidate);
    const double own = static_cast<double>(candidate.hits) /
                       static_cast<double>(candidate.hits + candidate.misses);
    for (const uint32_t communicator : communicators_[entity]) {
      if (communicator == CommunicatorOf(candidate) ||
          static_cast<int32_t>(communicator) == data_.world)
        continue;
      const bool slow = IsSlowThen(communicator, candidate);
      // The candidate's window is where it was late most often, that of the others is not.
      const double alike = own / (slow ? 4 : 2);
      size_t others = 0;
      size_t late = 0;
      bool one_host = true;
      for (const uint32_t other : EntitiesOf(data_, communicator)) {
        if (other == entity) continue;
        one_host =
            one_host && data_.entities[other].host_index == data_.entities[entity].host_index;
        const std::optional<double> share = LateShareAlike(other, candidate);
        if (!share) continue;
        ++others;
        late += *share >= alike ? 1 : 0;
      }
      if (others == 0 || 2 * late < others) continue;
      if (slow) return Company::kVictims;
      // Who is late in there is the cause; the others waited for it.
      if (IsCandidateIn(entity, communicator, candidate)) return Company::kNone;
      // Where there is one host only, no other waits for it.
      return one_host && others > 1 && data_.hosts.size() > 1 ? Company::kHost : Company::kVictims;
    }
    return Company::kNone;
  }

  bool IsSlowThen(uint32_t communicator, const LateCandidate& candidate) const {
    return std::any_of(slow_.begin(), slow_.end(), [&](const SlowCause& cause) {
      return cause.communicator == static_cast<int32_t>(communicator) && Overlap(cause, candidate);
    });
  }

  LateCause Cause(uint32_t entity, bool whole_host, std::vector<LateCandidate> candidates) const {
    LateCause cause;
    cause.entity = entity;
    cause.whole_host = whole_host;
    double most = -1;
    for (const LateCandidate& candidate : candidates) {
      cause.hits += candidate.hits;
      cause.misses += candidate.misses;
      const double total = candidate.margin_us * static_cast<double>(candidate.hits);
      if (total > most) {
        most = total;
        cause.clearest = candidate;
      }
    }
    cause.all = std::move(candidates);
    return cause;
  }

  const RunData& data_;
  const std::vector<MatchedLane>& matched_;
  const std::vector<SlowCause>& slow_;
  const std::vector<JitterCandidate>& jitter_;
  std::vector<std::vector<uint32_t>> communicators_;
  std::map<Shape, std::vector<uint32_t>> lanes_of_shape_;
  std::map<uint32_t, std::vector<LateCandidate>> of_entity_;
};

JitterCause MakeJitterCause(const std::vector<JitterCandidate>& candidates,
                            const std::set<uint32_t>& entities) {
  JitterCause cause;
  for (const JitterCandidate& candidate : candidates) {
    if (!entities.contains(candidate.entity)) continue;
    if (cause.all.empty() || candidate.log_p < cause.clearest.log_p) cause.clearest = candidate;
    cause.operations += candidate.operations;
    cause.all.push_back(candidate);
  }
  return cause;
}

// Several ranks whose arrival varies by about the same have a cause in common, also where it could
// not be shown for the others.
bool VaryAlike(const std::vector<JitterCandidate>& candidates, const std::set<uint32_t>& entities) {
  constexpr size_t kSeveral = 3;
  constexpr double kAlike = 2;
  if (entities.size() < kSeveral) return false;
  double least = std::numeric_limits<double>::max();
  double most = 0;
  for (const uint32_t entity : entities) {
    const double spread_us = MakeJitterCause(candidates, {entity}).clearest.spread_us;
    least = std::min(least, spread_us);
    most = std::max(most, spread_us);
  }
  return most <= kAlike * least;
}

}  // namespace

std::vector<JitterCause> MergeJitter(const RunData& data, const std::vector<JitterCandidate>& all,
                                     const std::vector<LateCandidate>& late,
                                     const std::vector<SlowCause>& slow) {
  const auto communicators = CommunicatorsOf(data);
  // Who comes out of transfers over a slow link arrives later in the next communicator, though not
  // each time.
  std::vector<JitterCandidate> candidates;
  std::copy_if(all.begin(), all.end(), std::back_inserter(candidates), [&](const auto& candidate) {
    return std::none_of(slow.begin(), slow.end(), [&](const SlowCause& cause) {
      return cause.transfers && candidate.spread_us <= kMostOfAdded * cause.added_us &&
             ComesOutOf(cause, communicators[candidate.entity],
                        data.lanes[candidate.lane].communicator, candidate);
    });
  });
  std::set<std::pair<uint32_t, uint32_t>> varies_in;  // entity, communicator
  for (const JitterCandidate& candidate : candidates) {
    varies_in.emplace(candidate.entity, data.lanes[candidate.lane].communicator);
  }
  // A rank that is late by the same amount for a while varies only where that begins and ends.
  constexpr double kEven = 0.4;
  std::set<uint32_t> evenly_late;  // members
  for (const LateCandidate& candidate : late) {
    if (candidate.spread < kEven) evenly_late.insert(candidate.member);
  }
  std::set<uint32_t> roots;
  for (const JitterCandidate& candidate : candidates) {
    bool waits = evenly_late.contains(candidate.member);
    for (const uint32_t communicator : communicators[candidate.entity]) {
      if (varies_in.contains({candidate.entity, communicator})) continue;
      for (const uint32_t other : EntitiesOf(data, communicator)) {
        waits = waits || varies_in.contains({other, communicator});
      }
    }
    if (!waits) roots.insert(candidate.entity);
  }
  std::vector<JitterCause> causes;
  if (roots.empty()) return causes;
  if (2 * roots.size() > data.entities.size() && data.hosts.size() > 1) {
    causes.push_back(MakeJitterCause(candidates, roots));
    return causes;
  }
  std::vector<size_t> on_host(data.hosts.size());
  for (const Entity& entity : data.entities) ++on_host[static_cast<size_t>(entity.host_index)];
  std::map<int32_t, std::set<uint32_t>> by_host;
  for (const uint32_t root : roots) by_host[data.entities[root].host_index].insert(root);
  for (const auto& [host, of_host] : by_host) {
    const bool most = of_host.size() > 1 && 2 * of_host.size() > on_host[static_cast<size_t>(host)];
    if (most || VaryAlike(candidates, of_host)) {
      causes.push_back(MakeJitterCause(candidates, of_host));
      causes.back().host = host;
      continue;
    }
    for (const uint32_t root : of_host) {
      causes.push_back(MakeJitterCause(candidates, {root}));
      causes.back().entity = static_cast<int32_t>(root);
      causes.back().host = host;
    }
  }
  return causes;
}

std::vector<LateCause> MergeLate(const RunData& data, const std::vector<MatchedLane>& matched,
                                 const std::vector<LateCandidate>& candidates,
                                 const std::vector<SlowCause>& slow,
                                 const std::vector<JitterCandidate>& jitter) {
  return LateMerger(data, matched, candidates, slow, jitter).Merge();
}

}  // namespace telltale::collectives
