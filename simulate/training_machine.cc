#include "simulate/training_machine.h"

#include <algorithm>
#include <cmath>

namespace telltale::simulate {
namespace {

// GB/s and latencies of the order of an H100 host: NVLink 4, one 400 Gb/s network card a GPU.
constexpr double kNvlinkBytesPerNs = 360;
constexpr double kNetworkBytesPerNs = 45;
constexpr double kNvlinkLatencyNs = 9'000;
constexpr double kNetworkLatencyNs = 22'000;
constexpr double kLatencyPerDoublingNs = 3'000;

// Bytes over the slowest link of a ring, per byte of NCCL's message size.
double WireFactor(Function function, double ranks) {
  switch (function) {
    case Function::kAllReduce:
      return 2 * (ranks - 1) / ranks;
    case Function::kAllGather:
    case Function::kReduceScatter:
      return ranks - 1;
    case Function::kInvalid:
      return (ranks - 1) / ranks;  // AlltoAll
    default:
      return 1;
  }
}

// True if a ring over the communicator's hosts, in order, has the link between `a` and `b`.
bool RingUsesLink(const Communicator& communicator, const Layout& layout, uint32_t a, uint32_t b) {
  std::vector<uint32_t> hosts;
  for (const uint32_t rank : communicator.ranks) {
    if (hosts.empty() || hosts.back() != layout.places[rank].host) {
      hosts.push_back(layout.places[rank].host);
    }
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    const uint32_t from = hosts[i];
    const uint32_t to = hosts[(i + 1) % hosts.size()];
    if ((from == a && to == b) || (from == b && to == a)) return true;
  }
  return false;
}

bool HasRankOn(const Communicator& communicator, const Layout& layout, uint32_t host) {
  return std::any_of(communicator.ranks.begin(), communicator.ranks.end(),
                     [&](uint32_t rank) { return layout.places[rank].host == host; });
}

Status CheckPlaces(const Fault& fault, const Layout& layout) {
  const size_t ranks = layout.places.size();
  const size_t hosts = layout.hostnames.size();
  if (fault.rank && *fault.rank >= ranks) {
    return Fail("fault \"{}\": there are ranks 0 to {} only", fault.text, ranks - 1);
  }
  for (const std::optional<uint32_t>& host : {fault.host, fault.other_host}) {
    if (host && *host >= hosts) {
      return Fail("fault \"{}\": there are hosts 0 to {} only", fault.text, hosts - 1);
    }
  }
  if (fault.communicator.empty()) return {};
  const auto& all = layout.communicators;
  if (std::none_of(all.begin(), all.end(),
                   [&](const Communicator& c) { return c.name == fault.communicator; })) {
    return Fail("fault \"{}\": there is no communicator \"{}\"; the names go from \"{}\" to \"{}\"",
                fault.text, fault.communicator, all.front().name, all.back().name);
  }
  return {};
}

}  // namespace

Effect EffectOf(const Fault& fault, uint32_t index, uint32_t steps, double amount) {
  const auto step_at = [&](double part) {
    return static_cast<uint32_t>(std::lround(part * steps));
  };
  return {index, step_at(fault.from), step_at(fault.to), amount};
}

Result<Machine> Machine::Make(const TrainingOptions& options, const Layout& layout) {
  Machine machine(options, layout);
  for (const Communicator& communicator : layout.communicators) {
    const double ranks = static_cast<double>(communicator.ranks.size());
    const double ranks_per_host = ranks / communicator.node_count;
    const double doublings = std::log2(ranks);
    machine.speeds_.push_back(
        communicator.crosses_hosts()
            ? Speed{kNetworkLatencyNs + 2 * kLatencyPerDoublingNs * doublings,
                    std::min(kNvlinkBytesPerNs / 2, kNetworkBytesPerNs * ranks_per_host)}
            : Speed{kNvlinkLatencyNs + kLatencyPerDoublingNs * doublings, kNvlinkBytesPerNs});
  }
  machine.collective_effects_.resize(layout.communicators.size());
  machine.delays_.resize(layout.places.size());
  machine.jitter_.resize(layout.places.size());
  for (uint32_t i = 0; i < options.faults.size(); ++i) TELLTALE_TRY(machine.AddFault(i));
  return machine;
}

Status Machine::AddFault(uint32_t index) {
  const Fault& fault = options_->faults[index];
  TELLTALE_TRY(CheckPlaces(fault, *layout_));
  const auto effect = [&](double amount) {
    return EffectOf(fault, index, options_->steps, amount);
  };
  switch (fault.kind) {
    case FaultKind::kLateRank:
      delays_[*fault.rank].push_back(effect(fault.milliseconds * 1e6));
      break;
    case FaultKind::kJitter:
      for (uint32_t rank = 0; rank < jitter_.size(); ++rank) {
        if (fault.rank && *fault.rank != rank) continue;
        if (fault.host && *fault.host != layout_->places[rank].host) continue;
        jitter_[rank].push_back(effect(fault.percent / 100));
      }
      break;
    case FaultKind::kSlowLink:
    case FaultKind::kSlowHost:
    case FaultKind::kCongestion:
      bandwidth_faults_.push_back(effect(fault.factor));
      for (size_t i = 0; i < collective_effects_.size(); ++i) {
        if (SlowsCollectives(fault, layout_->communicators[i])) {
          collective_effects_[i].push_back(bandwidth_faults_.back());
        }
      }
      break;
    case FaultKind::kRingLoss:
    case FaultKind::kClockOffset:
    case FaultKind::kMissingRankFile:
      break;  // what is measured, not what happens
  }
  return {};
}

bool Machine::SlowsCollectives(const Fault& fault, const Communicator& communicator) const {
  if (!fault.communicator.empty()) return communicator.name == fault.communicator;
  if (!communicator.crosses_hosts()) return false;
  if (fault.other_host) return RingUsesLink(communicator, *layout_, *fault.host, *fault.other_host);
  return !fault.host || HasRankOn(communicator, *layout_, *fault.host);
}

bool Machine::SlowsTransfer(uint32_t index, uint32_t communicator, uint32_t from_rank,
                            uint32_t to_rank) const {
  const Fault& fault = options_->faults[index];
  if (!fault.communicator.empty()) {
    return layout_->communicators[communicator].name == fault.communicator;
  }
  const uint32_t from = layout_->places[from_rank].host;
  const uint32_t to = layout_->places[to_rank].host;
  if (from == to) return false;
  if (!fault.host) return true;
  if (!fault.other_host) return from == *fault.host || to == *fault.host;
  return std::minmax(from, to) == std::minmax(*fault.host, *fault.other_host);
}

Machine::Duration Machine::Collective(uint32_t communicator, Function function,
                                      uint64_t message_bytes) const {
  const Speed& speed = speeds_[communicator];
  const auto ranks = static_cast<double>(layout_->communicators[communicator].ranks.size());
  const double wire_bytes = static_cast<double>(message_bytes) * WireFactor(function, ranks);
  return {speed.latency_ns, wire_bytes / speed.bytes_per_ns};
}

Machine::Duration Machine::Transfer(uint32_t from_rank, uint32_t to_rank,
                                    uint64_t message_bytes) const {
  const bool same_host = layout_->places[from_rank].host == layout_->places[to_rank].host;
  const auto bytes = static_cast<double>(message_bytes);
  return same_host ? Duration{kNvlinkLatencyNs, bytes / kNvlinkBytesPerNs}
                   : Duration{kNetworkLatencyNs, bytes / kNetworkBytesPerNs};
}

}  // namespace telltale::simulate
