// EstimateClocks: pairs of hosts first, then all clocks together at a few
// times, then the clocks that are not linear.

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "evidence/clock_graph.h"
#include "evidence/clock_model.h"
#include "evidence/clock_set_parts.h"

namespace telltale::evidence {
namespace {

constexpr size_t kMostSuspects = 16;

// Once so many hosts contradict the others together, all that a contradiction
// involves are blamed.
constexpr size_t kMostCulprits = 8;

class Estimator {
 public:
  Estimator(const ClockEvidence& evidence, const ClockOptions& options)
      : evidence_(evidence),
        options_(options),
        shared_(ShareEvidence(evidence, options)),
        hosts_(evidence.hosts.size()),
        is_suspect_(hosts_, false),
        contradicting_(hosts_) {}

  ClockModel Estimate() {
    model_.ignored = shared_.ignored;
    model_.base_ns = shared_.base_ns;
    model_.hosts.resize(hosts_);
    for (size_t i = 0; i < hosts_; ++i) {
      model_.hosts[i].host = evidence_.hosts[i];
      model_.hosts[i].operations = shared_.operations[i];
    }
    if (hosts_ == 0) return std::move(model_);
    FitPairs();
    SuspectHosts();
    ChooseReference();
    SolveWithoutContradiction();
    RefineByAnchors();
    DescribeLinearClocks();
    DescribeSuspects();
    NameReference();
    KeepDirectPairs();
    for (size_t i = 0; i < hosts_; ++i) {
      model_.hosts[i].contradictions = contradicting_[i].size() + shared_.self_contradicting[i];
    }
    return std::move(model_);
  }

 private:
  void FitPairs() {
    for (const HostPair& pair : shared_.pairs) {
      PairFit fit = FitPair(pair.operations, options_.pair);
      const Crowds crowds = CrowdsAtEnds(fit.left_out, pair.operations.size());
      if (crowds.at_front > 0 || crowds.at_back > 0) fit.is_contradictory = true;
      fits_.push_back(std::move(fit));
    }
    for (const HostPair& pair : shared_.anchored) {
      fits_of_anchors_.push_back(FitPair(pair.operations, options_.pair));
    }
  }

  // Of two hosts whose pair contradicts itself one has no linear clock. The
  // fewest hosts that explain all such pairs, found greedily by how many
  // operations they explain.
  void SuspectHosts() {
    std::vector<size_t> explained(hosts_);
    std::vector<std::vector<size_t>> pairs_of(hosts_);
    for (size_t i = 0; i < fits_.size(); ++i) {
      if (!fits_[i].is_contradictory) continue;
      for (const uint32_t host : {shared_.pairs[i].x, shared_.pairs[i].y}) {
        explained[host] += shared_.pairs[i].operations.size();
        pairs_of[host].push_back(i);
      }
    }
    while (true) {
      uint32_t worst = shared_.by_evidence.back();
      for (size_t i = hosts_; i-- > 0;) {
        const uint32_t host = shared_.by_evidence[i];
        if (explained[host] > explained[worst]) worst = host;
      }
      if (explained[worst] == 0) return;
      is_suspect_[worst] = true;
      explained[worst] = 0;
      for (const size_t i : pairs_of[worst]) {
        const uint32_t other =
            shared_.pairs[i].x == worst ? shared_.pairs[i].y : shared_.pairs[i].x;
        if (!is_suspect_[other]) explained[other] -= shared_.pairs[i].operations.size();
      }
    }
  }

  void ChooseReference() {
    std::vector<bool> is_anchored(hosts_);
    for (const HostPair& pair : shared_.anchored) is_anchored[pair.y] = true;
    model_.reference = shared_.by_evidence.front();
    for (const uint32_t host : shared_.by_evidence) {
      if (is_suspect_[host] || (shared_.operations[host] == 0 && !is_anchored[host])) continue;
      model_.reference = host;
      return;
    }
  }

  ClockGraph GraphOf(bool with_anchors, uint32_t without = kUtc) const {
    std::vector<ClockEdge> edges;
    const auto is_left_out = [&](uint32_t host) { return is_suspect_[host] || host == without; };
    for (size_t i = 0; i < fits_.size(); ++i) {
      const HostPair& pair = shared_.pairs[i];
      if (fits_[i].is_contradictory || is_left_out(pair.x) || is_left_out(pair.y)) continue;
      edges.push_back({pair.x, pair.y, &fits_[i].lines});
    }
    for (size_t i = 0; with_anchors && i < fits_of_anchors_.size(); ++i) {
      const uint32_t host = shared_.anchored[i].y;
      if (fits_of_anchors_[i].is_contradictory || is_left_out(host)) continue;
      edges.push_back({static_cast<uint32_t>(hosts_), host, &fits_of_anchors_[i].lines});
    }
    return ClockGraph(hosts_ + 1, edges);
  }

  bool HasReadings(uint32_t host) const { return shared_.first_ns[host] <= shared_.last_ns[host]; }

  // From the first to the last reading of any host, by the reference's clock.
  void FindRange(const Readings& middle, long double time) {
    auto first = static_cast<long double>(shared_.first_ns[model_.reference]);
    auto last = static_cast<long double>(shared_.last_ns[model_.reference]);
    for (uint32_t host = 0; host < hosts_; ++host) {
      const ReadingRange& range = middle.of[host];
      if (!range.IsBounded() || !HasReadings(host)) continue;
      const long double ahead = (range.low + range.high) / 2 - time;
      first = std::min(first, static_cast<long double>(shared_.first_ns[host]) - ahead);
      last = std::max(last, static_cast<long double>(shared_.last_ns[host]) - ahead);
    }
    times_ = KnotTimes(std::llround(first), std::llround(last), options_.knots);
  }

  // The first contradiction of the graph at the knots, or none. Fills times_
  // and readings_.
  std::vector<uint32_t> Solve(const ClockGraph& graph) {
    const uint32_t reference = model_.reference;
    const int64_t middle = std::midpoint(shared_.first_ns[reference], shared_.last_ns[reference]);
    const Readings at_middle = graph.At(reference, static_cast<long double>(middle));
    if (!at_middle.contradicting.empty()) return at_middle.contradicting;
    FindRange(at_middle, static_cast<long double>(middle));
    readings_.clear();
    for (const int64_t time : times_) {
      readings_.push_back(graph.At(reference, static_cast<long double>(time)));
      if (!readings_.back().contradicting.empty()) return readings_.back().contradicting;
    }
    return {};
  }

  // Pairs may be possible each by itself and not together. Then hosts are left
  // out: one without which there is no contradiction, if there is one, and of
  // several that with least evidence.
  void SolveWithoutContradiction() {
    if (!HasReadings(model_.reference)) return;
    for (size_t round = 0;; ++round) {
      std::vector<uint32_t> blamed = Solve(GraphOf(false));
      if (blamed.empty()) return;
      std::erase(blamed, model_.reference);
      if (blamed.empty()) {
        times_.clear();
        readings_.clear();
        return;
      }
      if (round >= kMostCulprits) {
        for (const uint32_t host : blamed) is_suspect_[host] = true;
        continue;
      }
      std::sort(blamed.begin(), blamed.end(), [&](uint32_t a, uint32_t b) {
        return std::pair(shared_.operations[a], a) < std::pair(shared_.operations[b], b);
      });
      uint32_t culprit = blamed.front();
      for (size_t i = 0; i < blamed.size() && i < kMostSuspects; ++i) {
        if (!Solve(GraphOf(false, blamed[i])).empty()) continue;
        culprit = blamed[i];
        break;
      }
      is_suspect_[culprit] = true;
    }
  }

  // Anchors together, or none of them where they contradict the operations.
  void RefineByAnchors() {
    is_linked_.resize(hosts_);
    for (uint32_t i = 0; i < hosts_ && !readings_.empty(); ++i) {
      is_linked_[i] = readings_.front().of[i].IsBounded();
    }
    if (shared_.anchored.empty() || times_.empty() || !HasReadings(model_.reference)) return;
    const std::vector<int64_t> times = times_;
    std::vector<Readings> readings = readings_;
    if (Solve(GraphOf(true)).empty()) return;
    times_ = times;
    readings_ = std::move(readings);
    for (const HostPair& pair : shared_.anchored) ++shared_.self_contradicting[pair.y];
  }

  void DescribeLinearClocks() {
    for (uint32_t host = 0; host < hosts_; ++host) {
      if (is_suspect_[host]) continue;
      std::vector<ReadingRange> ranges;
      for (const Readings& readings : readings_) ranges.push_back(readings.of[host]);
      const auto segment = SegmentOf(times_, ranges, shared_.base_ns);
      if (!segment) continue;
      model_.hosts[host].segments.push_back(*segment);
      model_.hosts[host].basis = is_linked_[host] ? ClockBasis::kCollectives : ClockBasis::kAnchor;
    }
    for (size_t i = 0; i < fits_.size(); ++i) {
      const HostPair& pair = shared_.pairs[i];
      if (is_suspect_[pair.x] || is_suspect_[pair.y]) continue;
      for (const uint32_t place : fits_[i].left_out) {
        contradicting_[pair.x].insert(pair.operations[place].operation);
        contradicting_[pair.y].insert(pair.operations[place].operation);
      }
    }
  }

  // A suspect against the hosts that are none.
  void DescribeSuspects() {
    if (times_.empty()) {
      for (uint32_t host = 0; host < hosts_; ++host) {
        if (is_suspect_[host]) model_.hosts[host].basis = ClockBasis::kContradictory;
      }
      return;
    }
    std::map<uint32_t, std::vector<HostPair>> partners;  // by suspect, which is y
    for (const HostPair& pair : shared_.pairs) {
      for (const bool is_exchanged : {false, true}) {
        const uint32_t suspect = is_exchanged ? pair.x : pair.y;
        const uint32_t other = is_exchanged ? pair.y : pair.x;
        if (!is_suspect_[suspect] || model_.hosts[other].segments.empty()) continue;
        partners[suspect].push_back(pair);
        if (is_exchanged) ExchangeHosts(partners[suspect].back());
      }
    }
    const ClockGraph graph = GraphOf(false);
    const auto readings_at = [&](int64_t time) {
      const auto known = std::lower_bound(times_.begin(), times_.end(), time);
      if (known != times_.end() && *known == time) {
        return readings_[static_cast<size_t>(known - times_.begin())].of;
      }
      return graph.At(model_.reference, static_cast<long double>(time)).of;
    };
    for (uint32_t host = 0; host < hosts_; ++host) {
      if (!is_suspect_[host]) continue;
      HostClock& clock = model_.hosts[host];
      SetParts parts = DescribeSetClock({partners[host], model_, times_, options_}, readings_at);
      clock.segments = std::move(parts.segments);
      clock.basis = clock.segments.empty() ? ClockBasis::kContradictory : ClockBasis::kCollectives;
      contradicting_[host] = std::move(parts.contradicting);
    }
  }

  void NameReference() {
    const bool is_known = !times_.empty();
    for (HostClock& clock : model_.hosts) {
      if (!clock.segments.empty()) clock.reference_host = evidence_.hosts[model_.reference];
    }
    HostClock& reference = model_.hosts[model_.reference];
    if (is_known) reference.reference_host = reference.host;
  }

  void KeepDirectPairs() {
    for (size_t i = 0; i < fits_.size(); ++i) {
      const HostPair& pair = shared_.pairs[i];
      if (fits_[i].is_contradictory || is_suspect_[pair.x] || is_suspect_[pair.y]) continue;
      model_.direct.push_back({pair.x, pair.y, std::move(fits_[i].lines), shared_.first_ns[pair.x],
                               shared_.last_ns[pair.x]});
    }
  }

  const ClockEvidence& evidence_;
  const ClockOptions& options_;
  SharedEvidence shared_;
  const size_t hosts_;
  std::vector<bool> is_suspect_;
  std::vector<std::set<uint64_t>> contradicting_;
  std::vector<PairFit> fits_, fits_of_anchors_;
  std::vector<bool> is_linked_;  // by operations
  std::vector<int64_t> times_;   // of knots, since the base
  std::vector<Readings> readings_;
  ClockModel model_;
};

}  // namespace

ClockModel EstimateClocks(const ClockEvidence& evidence, const ClockOptions& options) {
  return Estimator(evidence, options).Estimate();
}

}  // namespace telltale::evidence
