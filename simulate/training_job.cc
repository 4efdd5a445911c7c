#include "simulate/training_job.h"

#include <algorithm>
#include <cmath>

#include "simulate/random.h"

namespace telltale::simulate {
namespace {

constexpr double kTransferSigma = 0.03;
constexpr double kComputeSigma = 0.01;
constexpr int64_t kAllRanks = -1;
constexpr uint64_t kEndSpreadNs = 1500;  // ranks leave a collective at almost the same time

// What a random number is for.
enum Purpose : uint64_t { kForCompute = 1, kForCollective, kForEnd, kForTransfer, kForExchange };

int64_t ToNs(double ns) { return std::llround(ns); }

bool IsPointToPoint(Function function) {
  return function == Function::kSend || function == Function::kRecv ||
         function == Function::kSendRecv;
}

}  // namespace

TrainingJob::TrainingJob(const TrainingOptions& options, const Layout& layout,
                         const Machine& machine)
    : options_(options),
      layout_(layout),
      machine_(machine),
      ranks_(options.ranks),
      edges_(2 * size_t{options.ranks}),
      arrived_(layout.communicators.size()),
      collective_sequence_(layout.communicators.size()),
      collectives_done_(layout.communicators.size()) {
  for (uint32_t stage = 0; stage < options.pipeline_parallel; ++stage) {
    programs_.push_back(StageProgram(options, layout, stage));
  }
  for (uint32_t rank = options.ranks; rank-- > 0;) {
    runnable_.push_back(rank);
    operations_total_ += uint64_t{options.steps} * programs_[layout.places[rank].stage].size();
  }
}

bool TrainingJob::Advance(size_t enough) {
  while (!runnable_.empty() && waiting_records_ < enough) {
    const uint32_t rank = runnable_.back();
    runnable_.pop_back();
    Run(rank);
  }
  return !runnable_.empty();
}

double TrainingJob::Progress() const {
  return operations_total_ == 0
             ? 1.0
             : static_cast<double>(operations_done_) / static_cast<double>(operations_total_);
}

int64_t TrainingJob::LastMoment() const {
  int64_t last = 0;
  for (const RankState& state : ranks_) last = std::max(last, state.clock_ns);
  for (const Edge& edge : edges_) last = std::max(last, edge.last_end_ns);
  return last;
}

int64_t TrainingJob::KnownUntil(uint32_t rank) const {
  int64_t known = ranks_[rank].clock_ns;
  for (size_t i = 2 * size_t{rank}; i < 2 * size_t{rank} + 2; ++i) {
    if (!edges_[i].sends.empty()) known = std::min(known, edges_[i].sends.front().start_ns);
  }
  return known;
}

// Walks `rank` through its program until it has to wait for another.
void TrainingJob::Run(uint32_t rank) {
  RankState& state = ranks_[rank];
  const std::vector<ProgramOperation>& program = programs_[layout_.places[rank].stage];
  while (state.step < options_.steps) {
    if (state.next == program.size()) {
      state.next = 0;
      ++state.step;
      continue;
    }
    const ProgramOperation& operation = program[state.next];
    if (state.step % operation.period != 0) {
      ++state.next;
      continue;
    }
    Arrive(rank, operation);
    if (operation.function == Function::kSend) {
      PostSend(rank, operation);
    } else if (operation.function == Function::kRecv) {
      if (!Receive(rank, operation)) return;
    } else if (!JoinCollective(rank, operation)) {
      return;
    }
  }
}

// Lets the computation before an operation pass.
void TrainingJob::Arrive(uint32_t rank, const ProgramOperation& operation) {
  RankState& state = ranks_[rank];
  double sigma = kComputeSigma;
  for (const Effect& jitter : machine_.Jitter(rank)) {
    if (!jitter.ActiveIn(state.step)) continue;
    sigma += jitter.amount;
    NoteJitter(rank, operation, jitter.fault);
  }
  const uint64_t bits = RandomBits(options_.seed, kForCompute, rank, state.operations++);
  state.clock_ns +=
      ToNs(static_cast<double>(operation.compute_ns) * LognormalFromBits(bits, sigma));
  ++operations_done_;
  if (operation.group != Group::kWorld && operation.group != Group::kData) return;
  for (const Effect& delay : machine_.Delays(rank)) {
    if (!delay.ActiveIn(state.step)) continue;
    state.clock_ns += ToNs(delay.amount);
    const uint32_t communicator = CommunicatorOf(rank, operation.group);
    Note({delay.fault, communicator, operation.function, kAllRanks},
         collective_sequence_[communicator][static_cast<size_t>(operation.function)],
         state.clock_ns);
  }
}

void TrainingJob::NoteJitter(uint32_t rank, const ProgramOperation& operation, uint32_t fault) {
  const RankState& state = ranks_[rank];
  const uint32_t communicator = CommunicatorOf(rank, operation.group);
  const auto group = static_cast<size_t>(operation.group);
  if (IsPointToPoint(operation.function)) {
    Note({fault, communicator, operation.function, RankIn(rank, operation.group)},
         state.p2p_sequence[group] + 1, state.clock_ns);
  } else {
    Note({fault, communicator, operation.function, kAllRanks},
         collective_sequence_[communicator][static_cast<size_t>(operation.function)],
         state.clock_ns);
  }
}

// True if `rank` was the last, and the operation is done.
bool TrainingJob::JoinCollective(uint32_t rank, const ProgramOperation& operation) {
  const uint32_t communicator = CommunicatorOf(rank, operation.group);
  if (++arrived_[communicator] < layout_.communicators[communicator].ranks.size()) return false;
  arrived_[communicator] = 0;
  if (operation.function == Function::kSendRecv) {
    CompleteAllToAll(communicator, rank, operation);
  } else {
    CompleteCollective(communicator, rank, operation);
  }
  ++collectives_done_[communicator];
  return true;
}

void TrainingJob::CompleteCollective(uint32_t communicator, uint32_t last_rank,
                                     const ProgramOperation& operation) {
  const std::vector<uint32_t>& members = layout_.communicators[communicator].ranks;
  const uint32_t sequence =
      collective_sequence_[communicator][static_cast<size_t>(operation.function)]++;
  int64_t begin_ns = 0;
  for (const uint32_t rank : members) begin_ns = std::max(begin_ns, ranks_[rank].clock_ns);
  Machine::Duration duration =
      machine_.Collective(communicator, operation.function, operation.message_bytes);
  for (const Effect& effect : machine_.CollectiveEffects(communicator)) {
    if (!effect.ActiveIn(ranks_[last_rank].step)) continue;
    duration.transfer_ns *= effect.amount;
    Note({effect.fault, communicator, operation.function, kAllRanks}, sequence, begin_ns);
  }
  const uint64_t done = collectives_done_[communicator];
  const uint64_t bits = RandomBits(options_.seed, kForCollective, communicator, done);
  const int64_t end_ns = begin_ns + ToNs((duration.latency_ns + duration.transfer_ns) *
                                         LognormalFromBits(bits, kTransferSigma));
  for (const uint32_t rank : members) {
    RankState& state = ranks_[rank];
    const auto spread = BelowFromBits(Mix(bits ^ (rank + kForEnd)), kEndSpreadNs);
    const OperationRecord record{state.clock_ns,
                                 end_ns + static_cast<int64_t>(spread),
                                 state.next,
                                 sequence,
                                 0,
                                 operation.function,
                                 operation.group};
    state.clock_ns = record.end_ns;
    Record(rank, operation, record);
    ++state.next;
    if (rank != last_rank) runnable_.push_back(rank);
  }
}

void TrainingJob::CompleteAllToAll(uint32_t communicator, uint32_t last_rank,
                                   const ProgramOperation& operation) {
  const std::vector<uint32_t>& members = layout_.communicators[communicator].ranks;
  const size_t count = members.size();
  std::vector<uint32_t> first_sequence(count);
  std::vector<int64_t> end_ns(count);
  const bool tracked = operation.message_bytes >= options_.min_size_bytes;
  for (size_t i = 0; i < count; ++i) {
    RankState& state = ranks_[members[i]];
    uint32_t& sequence = state.p2p_sequence[static_cast<size_t>(operation.group)];
    first_sequence[i] = sequence + 1;
    if (tracked) sequence += static_cast<uint32_t>(2 * (count - 1));
    end_ns[i] = state.clock_ns;
  }
  for (size_t distance = 1; distance < count; ++distance) {
    for (size_t i = 0; i < count; ++i) {
      const size_t j = (i + distance) % count;
      const uint32_t from = members[i];
      const uint32_t to = members[j];
      const auto offset = static_cast<uint32_t>(2 * (distance - 1));
      const uint32_t send_sequence = first_sequence[i] + offset;
      const uint32_t receive_sequence = first_sequence[j] + offset + 1;
      // All transfers of a rank share its links.
      Machine::Duration duration =
          machine_.Transfer(from, to, operation.message_bytes * (count - 1));
      const int64_t begin_ns = std::max(ranks_[from].clock_ns, ranks_[to].clock_ns);
      duration.transfer_ns *=
          TransferSlowdown(communicator, from, send_sequence, to, receive_sequence, begin_ns);
      const uint64_t bits = RandomBits(options_.seed, kForExchange, communicator,
                                       collectives_done_[communicator], i, j);
      const int64_t end = begin_ns + ToNs((duration.latency_ns + duration.transfer_ns) *
                                          LognormalFromBits(bits, kTransferSigma));
      Record(from, operation,
             {ranks_[from].clock_ns, end, ranks_[from].next, send_sequence,
              static_cast<uint32_t>(j), Function::kSend, operation.group});
      Record(to, operation,
             {ranks_[to].clock_ns, end, ranks_[to].next, receive_sequence, static_cast<uint32_t>(i),
              Function::kRecv, operation.group});
      end_ns[i] = std::max(end_ns[i], end);
      end_ns[j] = std::max(end_ns[j], end);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    RankState& state = ranks_[members[i]];
    state.clock_ns = end_ns[i];
    ++state.next;
    if (members[i] != last_rank) runnable_.push_back(members[i]);
  }
}

uint32_t TrainingJob::PeerOf(uint32_t rank, int32_t stages) const {
  const Communicator& pipeline = layout_.communicators[CommunicatorOf(rank, Group::kPipeline)];
  return pipeline
      .ranks[static_cast<size_t>(static_cast<int64_t>(RankIn(rank, Group::kPipeline)) + stages)];
}

// Only operations that the Inspector tracks are counted.
uint32_t TrainingJob::NextPointToPointSequence(uint32_t rank, const ProgramOperation& operation) {
  uint32_t& sequence = ranks_[rank].p2p_sequence[static_cast<size_t>(operation.group)];
  return operation.message_bytes < options_.min_size_bytes ? sequence : ++sequence;
}

void TrainingJob::PostSend(uint32_t rank, const ProgramOperation& operation) {
  RankState& state = ranks_[rank];
  Edge& edge = EdgeFrom(rank, operation.peer_step);
  edge.sends.push_back({state.clock_ns, state.next, NextPointToPointSequence(rank, operation)});
  ++state.next;
  if (!edge.receiver_waits) return;
  edge.receiver_waits = false;
  const uint32_t receiver = PeerOf(rank, operation.peer_step);
  MatchFront(edge, rank, receiver);
  runnable_.push_back(receiver);
}

// True if the sender was there already.
bool TrainingJob::Receive(uint32_t rank, const ProgramOperation& operation) {
  const uint32_t sender = PeerOf(rank, operation.peer_step);
  Edge& edge = EdgeFrom(sender, -operation.peer_step);
  if (edge.sends.empty()) {
    edge.receiver_waits = true;
    return false;
  }
  MatchFront(edge, sender, rank);
  return true;
}

void TrainingJob::MatchFront(Edge& edge, uint32_t sender, uint32_t receiver) {
  const PostedSend send = edge.sends.front();
  edge.sends.pop_front();
  RankState& state = ranks_[receiver];
  const ProgramOperation& receive = programs_[layout_.places[receiver].stage][state.next];
  const uint32_t sequence = NextPointToPointSequence(receiver, receive);
  const uint32_t communicator = CommunicatorOf(receiver, receive.group);
  Machine::Duration duration = machine_.Transfer(sender, receiver, receive.message_bytes);
  const uint64_t bits = RandomBits(options_.seed, kForTransfer, sender, receiver, edge.transfers++);
  const int64_t begin_ns = std::max({send.start_ns, state.clock_ns, edge.last_end_ns});
  duration.transfer_ns *=
      TransferSlowdown(communicator, sender, send.sequence, receiver, sequence, begin_ns);
  edge.last_end_ns = begin_ns + ToNs((duration.latency_ns + duration.transfer_ns) *
                                     LognormalFromBits(bits, kTransferSigma));
  const ProgramOperation& sent = programs_[layout_.places[sender].stage][send.operation];
  Record(sender, sent,
         {send.start_ns, edge.last_end_ns, send.operation, send.sequence,
          RankIn(receiver, receive.group), Function::kSend, receive.group});
  Record(receiver, receive,
         {state.clock_ns, edge.last_end_ns, state.next, sequence, RankIn(sender, receive.group),
          Function::kRecv, receive.group});
  state.clock_ns = edge.last_end_ns;
  ++state.next;
}

double TrainingJob::TransferSlowdown(uint32_t communicator, uint32_t from, uint32_t from_sequence,
                                     uint32_t to, uint32_t to_sequence, int64_t at_ns) {
  double slowdown = 1;
  const Group group = layout_.communicators[communicator].group;
  for (const Effect& effect : machine_.bandwidth_faults()) {
    if (!effect.ActiveIn(ranks_[to].step)) continue;
    if (!machine_.SlowsTransfer(effect.fault, communicator, from, to)) continue;
    slowdown *= effect.amount;
    Note({effect.fault, communicator, Function::kSend, RankIn(from, group)}, from_sequence, at_ns);
    Note({effect.fault, communicator, Function::kRecv, RankIn(to, group)}, to_sequence, at_ns);
  }
  return slowdown;
}

void TrainingJob::Note(FaultKey key, uint32_t sequence, int64_t at_ns) {
  FaultExtent& extent =
      fault_extents_.emplace(key, FaultExtent{sequence, sequence, at_ns, at_ns, 0}).first->second;
  extent.first_sequence = std::min(extent.first_sequence, sequence);
  extent.last_sequence = std::max(extent.last_sequence, sequence);
  extent.first_ns = std::min(extent.first_ns, at_ns);
  extent.last_ns = std::max(extent.last_ns, at_ns);
  ++extent.operations;
}

void TrainingJob::Record(uint32_t rank, const ProgramOperation& operation,
                         const OperationRecord& record) {
  RankState& state = ranks_[rank];
  if (options_.nccl != NcclVersion::k230) {
    if (IsPointToPoint(record.function)) {
      ++state.p2p_unsupported;
      return;
    }
  } else if (operation.message_bytes < options_.min_size_bytes) {
    ++state.below_min_size;
    return;
  }
  state.records.push_back(record);
  ++waiting_records_;
}

}  // namespace telltale::simulate
