#pragma once

// A run's operation records as arrays, and what they belong to: the input of the search for
// culprits.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace telltale::collectives {

// A process that drives one rank of each of its communicators; where one drives several, each rank
// of each communicator counts as an entity of its own.
struct Entity {
  std::string host;
  uint64_t pid = 0;
  int32_t host_index = -1;
  int64_t global_rank = -1;  // -1: not known
};

// One rank of a communicator.
struct Member {
  uint32_t communicator = 0;  // index in RunData::communicators
  int64_t rank = 0;
  uint32_t entity = 0;
  bool incomplete = false;  // the producer is known to have lost operations of it
};

struct CommunicatorData {
  int64_t key = 0;   // communicator.communicator
  std::string name;  // or its id
  int64_t n_ranks = 0;
  uint64_t nnodes = 0;
  std::vector<uint32_t> members;  // by rank; ranks without a file are not there
  bool Crosses() const { return nnodes > 1; }
  bool HasAllRanks() const { return static_cast<int64_t>(members.size()) == n_ranks; }
};

// Records of one member that have operation, size and peer in common, by sequence number.
struct SeriesData {
  uint32_t series = 0;  // operation_series.series
  uint32_t member = 0;
  bool is_send = false;
  uint64_t begin = 0;  // in RunData::sequence and time_us
  uint64_t count = 0;
};

// The same operation, size and algorithm of one communicator, over its ranks; for p2p, between two
// ranks.
struct Lane {
  uint32_t communicator = 0;
  bool p2p = false;
  std::string operation;  // "Send/Recv" for p2p
  uint64_t bytes = 0;
  std::string variant;                             // algorithm, protocol and timing source
  double bus_bytes = 0;                            // bytes that count for bus bandwidth
  int64_t low_rank = -1, high_rank = -1;           // p2p
  uint64_t first_sequence = 0, last_sequence = 0;  // of the counter, over all sizes and ranks
  std::vector<SeriesData> series;
};

struct RunData {
  int64_t run = 0;
  std::string name;
  std::vector<std::string> hosts;
  std::vector<Entity> entities;
  std::vector<Member> members;
  std::vector<CommunicatorData> communicators;
  std::vector<Lane> lanes;
  std::vector<uint32_t> sequence, time_us;
  int32_t world = -1;    // the communicator that all entities are in
  uint64_t skipped = 0;  // records that could not be used: no time, unknown size or communicator

  std::span<const uint32_t> Sequences(const SeriesData& series) const {
    return {sequence.data() + series.begin, series.count};
  }
  // Of a collective's lane; empty where the member is not in it.
  std::span<const uint32_t> SequencesOf(const Lane& lane, uint32_t member) const {
    for (const SeriesData& of_member : lane.series) {
      if (of_member.member == member) return Sequences(of_member);
    }
    return {};
  }
  std::span<const uint32_t> Times(const SeriesData& series) const {
    return {time_us.data() + series.begin, series.count};
  }
  const Entity& EntityOf(uint32_t member) const { return entities[members[member].entity]; }
};

inline bool Has(std::span<const uint32_t> sequences, uint32_t sequence) {
  return std::binary_search(sequences.begin(), sequences.end(), sequence);
}

Result<RunData> LoadRun(Store& store, int64_t run, const std::string& name);

}  // namespace telltale::collectives
