#pragma once

// A dump of PyTorch's NCCL flight recorder (torch.distributed, version 2): the process groups of
// one rank with how far it got in each, and the newest collectives and transfers of its ring
// buffer.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "readers/flight_recorder/value.h"

namespace telltale::flight_recorder {

// Sequence numbers of the group; -1: none yet, or (last_started) starts are not timed.
struct DumpGroup {
  std::string name;
  std::string description;
  std::string ranks;                // global ranks as the dump writes them: [0, 1]
  std::optional<int64_t> local_id;  // the number by which this rank's entries name it
  std::optional<int64_t> last_enqueued, last_started, last_completed;
};

struct DumpEntry {
  std::optional<int64_t> record_id, local_group_id, collective_sequence, p2p_sequence, operation_id;
  std::optional<int64_t> created_ns, started_ns, completed_ns, timeout_ms;  // ns since 1970
  std::optional<double> duration_ms;
  std::string group_name, group_description;
  std::string operation;  // nccl:_all_gather_base, nccl:send 0->3
  std::string state;      // scheduled, started, completed
  std::optional<bool> is_p2p, retired;
  std::optional<std::string> input_sizes, output_sizes, input_types, output_types;  // JSON
  std::string thread_name, thread_id;
};

struct Dump {
  std::string version, nccl_version;
  std::vector<DumpGroup> groups;
  std::vector<DumpEntry> entries;
  uint64_t records = 0;          // entries of the file
  uint64_t invalid_entries = 0;  // of them: without an operation or a state
  uint64_t first_invalid = 0;    // number of the first, from 0
  uint64_t unknown_groups = 0;   // states of groups whose name nothing tells
  std::string damage;            // why the dump ends before its time
};

// From a pickle or JSON.
Result<Dump> ReadDump(std::string_view bytes);

// Whether the first bytes of a file are those of a dump.
bool LooksLikeDump(std::string_view head);

// The rank that a file's name ends with, as in nccl_trace_rank_12 or _dump_12.json.
std::optional<int64_t> RankOfPath(std::string_view path);
// Whether a name is one that dumps have, which tells of files without content.
bool IsNamedAsDump(std::string_view path);

}  // namespace telltale::flight_recorder
