#pragma once

// The discrete-event model of the job. Every rank has its own time and walks through its stage's
// program. A collective starts on each rank when that rank arrives and ends for all when the last
// has arrived and the transfer is done, so the late rank's record is the shortest. A Send does not
// hold up its rank (it has its own stream); a Recv does.

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "simulate/training_machine.h"
#include "simulate/training_program.h"

namespace telltale::simulate {

struct OperationRecord {
  int64_t start_ns;  // this rank's arrival, from the job's first moment
  int64_t end_ns;
  uint32_t operation;  // index in the stage's program
  uint32_t sequence;
  uint32_t peer;  // Send and Recv
  Function function;
  Group group;
};

// Where a fault was felt: a communicator's operations of one function, and of one rank for Send and
// Recv, whose sequence numbers are a rank's own.
struct FaultKey {
  uint32_t fault;
  uint32_t communicator;
  Function function;
  int64_t rank;  // in the communicator; -1: all
  auto operator<=>(const FaultKey&) const = default;
};
struct FaultExtent {
  uint32_t first_sequence;
  uint32_t last_sequence;
  int64_t first_ns;  // of the job's time
  int64_t last_ns;
  uint64_t operations;
};

class TrainingJob {
 public:
  TrainingJob(const TrainingOptions& options, const Layout& layout, const Machine& machine);

  // Simulates until about `enough` records wait to be taken, or the job is over (then returns
  // false).
  bool Advance(size_t enough);

  // The records of `rank` since the caller last emptied them, unordered.
  std::vector<OperationRecord>& Records(uint32_t rank) { return ranks_[rank].records; }
  void RecordsWereTaken() { waiting_records_ = 0; }

  // All of the rank's operations that end before this moment are known.
  int64_t KnownUntil(uint32_t rank) const;

  // 0 to 1.
  double Progress() const;
  int64_t LastMoment() const;

  const std::vector<ProgramOperation>& Program(uint32_t stage) const { return programs_[stage]; }
  const std::map<FaultKey, FaultExtent>& fault_extents() const { return fault_extents_; }

  // Operations that the Inspector leaves out by design.
  uint64_t BelowMinSize(uint32_t rank) const { return ranks_[rank].below_min_size; }
  uint64_t PointToPointUnsupported(uint32_t rank) const { return ranks_[rank].p2p_unsupported; }

 private:
  struct RankState {
    int64_t clock_ns = 0;
    uint32_t step = 0;
    uint32_t next = 0;  // index in the program
    uint64_t operations = 0;
    std::array<uint32_t, kGroups> p2p_sequence{};
    uint64_t below_min_size = 0;
    uint64_t p2p_unsupported = 0;
    std::vector<OperationRecord> records;
  };
  struct PostedSend {
    int64_t start_ns;
    uint32_t operation;
    uint32_t sequence;
  };
  // From one rank to the next or the previous stage.
  struct Edge {
    std::deque<PostedSend> sends;
    bool receiver_waits = false;
    int64_t last_end_ns = 0;
    uint64_t transfers = 0;
  };

  void Run(uint32_t rank);
  void Arrive(uint32_t rank, const ProgramOperation& operation);
  bool JoinCollective(uint32_t rank, const ProgramOperation& operation);
  void CompleteCollective(uint32_t communicator, uint32_t last_rank,
                          const ProgramOperation& operation);
  void CompleteAllToAll(uint32_t communicator, uint32_t last_rank,
                        const ProgramOperation& operation);
  void PostSend(uint32_t rank, const ProgramOperation& operation);
  bool Receive(uint32_t rank, const ProgramOperation& operation);
  void MatchFront(Edge& edge, uint32_t sender, uint32_t receiver);
  uint32_t CommunicatorOf(uint32_t rank, Group group) const {
    return static_cast<uint32_t>(layout_.places[rank].communicator[static_cast<size_t>(group)]);
  }
  uint32_t RankIn(uint32_t rank, Group group) const {
    return layout_.places[rank].rank_in[static_cast<size_t>(group)];
  }
  uint32_t PeerOf(uint32_t rank, int32_t stages) const;
  Edge& EdgeFrom(uint32_t sender, int32_t stages) {
    return edges_[2 * size_t{sender} + (stages > 0)];
  }
  uint32_t NextPointToPointSequence(uint32_t rank, const ProgramOperation& operation);
  double TransferSlowdown(uint32_t communicator, uint32_t from, uint32_t from_sequence, uint32_t to,
                          uint32_t to_sequence, int64_t at_ns);
  void Note(FaultKey key, uint32_t sequence, int64_t at_ns);
  void NoteJitter(uint32_t rank, const ProgramOperation& operation, uint32_t fault);
  void Record(uint32_t rank, const ProgramOperation& operation, const OperationRecord& record);

  const TrainingOptions& options_;
  const Layout& layout_;
  const Machine& machine_;
  std::vector<std::vector<ProgramOperation>> programs_;
  std::vector<RankState> ranks_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> arrived_;                             // by communicator
  std::vector<std::array<uint32_t, 9>> collective_sequence_;  // by communicator and function
  std::vector<uint64_t> collectives_done_;                    // by communicator
  std::vector<uint32_t> runnable_;
  std::map<FaultKey, FaultExtent> fault_extents_;
  size_t waiting_records_ = 0;
  uint64_t operations_done_ = 0;
  uint64_t operations_total_ = 0;
};

}  // namespace telltale::simulate
