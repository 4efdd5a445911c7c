#include "evidence/clock_evidence.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

namespace telltale::evidence {
namespace {

__extension__ typedef __int128 Wide;

constexpr int64_t kMostFromBase = int64_t{1} << 59;
constexpr int64_t kMostSlackNs = 1'000'000'000'000;
constexpr size_t kMostPairedWithAll = 16;
constexpr size_t kHubs = 4;

int64_t MedianTime(const ClockEvidence& evidence) {
  std::vector<int64_t> times;
  times.reserve(evidence.sightings.size());
  for (const ClockSighting& sighting : evidence.sightings) times.push_back(sighting.start_ns);
  for (const ClockTransfer& transfer : evidence.transfers) times.push_back(transfer.send_start_ns);
  for (const ClockAnchor& anchor : evidence.anchors) times.push_back(anchor.local_ns);
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// What an operation's records on one host say together.
struct OnHost {
  uint32_t host = 0;
  int64_t last_start = 0;
  int64_t first_end = 0;
};

class Sharing {
 public:
  Sharing(const ClockEvidence& evidence, const ClockOptions& options)
      : evidence_(evidence), slack_(std::clamp<int64_t>(options.slack_ns, 0, kMostSlackNs)) {
    const size_t hosts = evidence.hosts.size();
    shared_.base_ns = MedianTime(evidence);
    shared_.operations.resize(hosts);
    shared_.self_contradicting.resize(hosts);
    shared_.first_ns.resize(hosts, std::numeric_limits<int64_t>::max());
    shared_.last_ns.resize(hosts, std::numeric_limits<int64_t>::min());
  }

  SharedEvidence Share() {
    TakeSightings();
    OrderHosts();
    for (size_t at = 0; at < on_host_.size(); at = EndOfOperation(at)) {
      PairOperationAt(at, EndOfOperation(at));
    }
    TakeTransfers();
    TakeAnchors();
    for (auto* pairs : {&shared_.pairs, &shared_.anchored}) {
      for (HostPair& pair : *pairs) SortOperations(pair);
      std::sort(pairs->begin(), pairs->end(), [](const HostPair& a, const HostPair& b) {
        return std::tie(a.x, a.y) < std::tie(b.x, b.y);
      });
    }
    return std::move(shared_);
  }

 private:
  // A time since the base, if it can be one.
  bool Rebase(int64_t time_ns, int64_t shift, int64_t& rebased) const {
    const Wide wide = Wide{time_ns} - shared_.base_ns;
    if (wide > kMostFromBase || wide < -kMostFromBase) return false;
    rebased = static_cast<int64_t>(wide) + shift;
    return true;
  }

  void TakeSightings() {
    std::vector<ClockSighting> sightings;
    sightings.reserve(evidence_.sightings.size());
    for (ClockSighting sighting : evidence_.sightings) {
      const bool is_whole = sighting.host < evidence_.hosts.size() &&
                            sighting.end_ns >= sighting.start_ns &&
                            Rebase(sighting.start_ns, -slack_, sighting.start_ns) &&
                            Rebase(sighting.end_ns, slack_, sighting.end_ns);
      if (is_whole) sightings.push_back(sighting);
    }
    shared_.ignored += evidence_.sightings.size() - sightings.size();
    const auto by_operation = [](const ClockSighting& a, const ClockSighting& b) {
      return std::tie(a.operation, a.host) < std::tie(b.operation, b.host);
    };
    if (!std::is_sorted(sightings.begin(), sightings.end(), by_operation)) {
      std::sort(sightings.begin(), sightings.end(), by_operation);
    }
    for (size_t i = 0; i < sightings.size();) {
      const size_t first = i;
      const size_t first_on_host = on_host_.size();
      bool is_possible = true;
      while (i < sightings.size() && sightings[i].operation == sightings[first].operation) {
        const uint32_t host = sightings[i].host;
        OnHost on{host, sightings[i].start_ns, sightings[i].end_ns};
        for (++i; i < sightings.size() && sightings[i].host == host &&
                  sightings[i].operation == sightings[first].operation;
             ++i) {
          on.last_start = std::max(on.last_start, sightings[i].start_ns);
          on.first_end = std::min(on.first_end, sightings[i].end_ns);
        }
        if (on.first_end < on.last_start) {
          ++shared_.self_contradicting[host];
          is_possible = false;
        }
        on_host_.push_back(on);
        operation_.push_back(sightings[first].operation);
      }
      // Ranks of one host share a clock, so these were not one operation.
      if (!is_possible || on_host_.size() - first_on_host < 2) {
        on_host_.resize(first_on_host);
        operation_.resize(first_on_host);
      }
    }
    for (const OnHost& on : on_host_) {
      ++shared_.operations[on.host];
      Widen(on.host, on.last_start, on.first_end);
    }
  }

  void Widen(uint32_t host, int64_t first, int64_t last) {
    shared_.first_ns[host] = std::min(shared_.first_ns[host], first);
    shared_.last_ns[host] = std::max(shared_.last_ns[host], last);
  }

  void OrderHosts() {
    for (const ClockTransfer& transfer : evidence_.transfers) {
      if (!IsBetweenHosts(transfer)) continue;
      ++shared_.operations[transfer.sender];
      ++shared_.operations[transfer.receiver];
    }
    place_.resize(evidence_.hosts.size());
    for (uint32_t i = 0; i < place_.size(); ++i) shared_.by_evidence.push_back(i);
    std::sort(shared_.by_evidence.begin(), shared_.by_evidence.end(), [&](uint32_t a, uint32_t b) {
      return std::tie(shared_.operations[b], evidence_.hosts[a], a) <
             std::tie(shared_.operations[a], evidence_.hosts[b], b);
    });
    for (uint32_t i = 0; i < place_.size(); ++i) place_[shared_.by_evidence[i]] = i;
  }

  size_t EndOfOperation(size_t at) const {
    size_t end = at + 1;
    while (end < operation_.size() && operation_[end] == operation_[at]) ++end;
    return end;
  }

  void PairOperationAt(size_t first, size_t last) {
    const auto begin = on_host_.begin() + static_cast<ptrdiff_t>(first);
    const auto end = on_host_.begin() + static_cast<ptrdiff_t>(last);
    std::sort(begin, end,
              [&](const OnHost& a, const OnHost& b) { return place_[a.host] < place_[b.host]; });
    const size_t hubs = last - first <= kMostPairedWithAll ? last - first : kHubs;
    for (size_t i = first; i < first + hubs; ++i) {
      for (size_t j = i + 1; j < last; ++j) {
        const OnHost& x = on_host_[i];
        const OnHost& y = on_host_[j];
        Add(x.host, y.host,
            {x.last_start, x.first_end, y.last_start, y.first_end, true, true, operation_[first]});
      }
    }
  }

  void Add(uint32_t x, uint32_t y, const PairOperation& operation) {
    const uint64_t key = (uint64_t{x} << 32) | y;
    if (key != last_key_ || !last_pair_) {
      const auto [place, added] = pair_of_.try_emplace(key, shared_.pairs.size());
      if (added) shared_.pairs.push_back({x, y, {}});
      last_key_ = key;
      last_pair_ = place->second + 1;
    }
    shared_.pairs[last_pair_ - 1].operations.push_back(operation);
  }

  bool IsBetweenHosts(const ClockTransfer& transfer) const {
    return transfer.sender < evidence_.hosts.size() && transfer.receiver < evidence_.hosts.size() &&
           transfer.sender != transfer.receiver;
  }

  void TakeTransfers() {
    for (const ClockTransfer& transfer : evidence_.transfers) {
      PairOperation operation;
      operation.bounds_below = false;
      operation.operation = transfer.operation;
      if (!IsBetweenHosts(transfer) ||
          !Rebase(transfer.send_start_ns, -slack_, operation.start_x) ||
          !Rebase(transfer.receive_end_ns, slack_, operation.end_y)) {
        ++shared_.ignored;
        continue;
      }
      Widen(transfer.sender, operation.start_x, operation.start_x);
      Widen(transfer.receiver, operation.end_y, operation.end_y);
      if (place_[transfer.sender] < place_[transfer.receiver]) {
        Add(transfer.sender, transfer.receiver, operation);
      } else {
        Add(transfer.receiver, transfer.sender, Exchanged(operation));
      }
    }
  }

  void TakeAnchors() {
    std::unordered_map<uint32_t, size_t> place_of;
    for (const ClockAnchor& anchor : evidence_.anchors) {
      PairOperation operation;
      if (anchor.host >= evidence_.hosts.size() || anchor.bound_ns < 0 ||
          anchor.bound_ns > kMostFromBase || !Rebase(anchor.utc_ns, 0, operation.start_x) ||
          !Rebase(anchor.local_ns, -anchor.bound_ns, operation.start_y) ||
          !Rebase(anchor.local_ns, anchor.bound_ns, operation.end_y)) {
        ++shared_.ignored;
        continue;
      }
      operation.end_x = operation.start_x;
      const auto [place, added] = place_of.try_emplace(anchor.host, shared_.anchored.size());
      if (added) shared_.anchored.push_back({kUtc, anchor.host, {}});
      shared_.anchored[place->second].operations.push_back(operation);
      Widen(anchor.host, operation.start_y + anchor.bound_ns, operation.end_y - anchor.bound_ns);
    }
  }

  static void SortOperations(HostPair& pair) {
    const auto by_time = [](const PairOperation& a, const PairOperation& b) {
      return std::tuple(a.TimeX(), a.operation) < std::tuple(b.TimeX(), b.operation);
    };
    if (std::is_sorted(pair.operations.begin(), pair.operations.end(), by_time)) return;
    std::sort(pair.operations.begin(), pair.operations.end(), by_time);
  }

  const ClockEvidence& evidence_;
  const int64_t slack_;
  SharedEvidence shared_;
  std::vector<OnHost> on_host_;
  std::vector<uint64_t> operation_;  // of on_host_
  std::vector<uint32_t> place_;      // of a host in by_evidence
  std::unordered_map<uint64_t, size_t> pair_of_;
  uint64_t last_key_ = 0;
  size_t last_pair_ = 0;  // 1 + its place; 0: none yet
};

}  // namespace

SharedEvidence ShareEvidence(const ClockEvidence& evidence, const ClockOptions& options) {
  return Sharing(evidence, options).Share();
}

}  // namespace telltale::evidence
