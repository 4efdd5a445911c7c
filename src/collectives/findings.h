#pragma once

// Who is to blame: the causes of slow communication in a run, each with its place, its time, its
// size and the rows that it rests on.
//
// Every operation is matched over the ranks of its communicator by (communicator, operation,
// sequence number), so that no clocks are compared. The intrinsic time of an operation is the
// shortest time over its ranks; how much a rank was late is the longest time minus its own: the
// late rank shows the SHORTEST time, because the others wait for it inside the operation. Lateness
// accuses ranks, intrinsic time accuses links, hosts and communicators; a victim, which only waits,
// shows neither.
//
// To add a kind: its name here and in KindName, its search in a findings_<kind>.cc of its own, its
// sentence in findings_text.cc, and its place in FindCulprits.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace telltale::collectives {

enum class FindingKind {
  kLateRank,          // the other ranks wait for it
  kSlowLink,          // one communicator, or what runs between two hosts
  kSlowHost,          // all network communication through a host, and nothing else
  kSlowCommunicator,  // communicators that have more than one possible place in common
  kCongestion,        // all network communication, no common place
  kJitter,            // arrival varies more than elsewhere or before
  kLoss,              // operations happened that nobody can see
};
const char* KindName(FindingKind kind);

// What is not known or does not apply is empty.
struct FindingPlace {
  std::string communicator;                 // its name, or its id where it has none
  std::optional<int64_t> communicator_key;  // communicator.communicator
  std::optional<int64_t> rank;              // in the communicator
  std::optional<int64_t> global_rank;
  std::string host;
  std::string other_host;           // the other end of a link between two hosts
  std::vector<std::string> hosts;   // of a slow communicator's ranks
  std::optional<uint64_t> process;  // pid
  std::optional<int64_t> gpu;       // known where a host's processes are numbered by global rank
  std::string operation;
};

struct FindingRange {
  std::optional<uint64_t> first_sequence, last_sequence;  // of place.operation
  std::optional<int64_t> start_ns, end_ns;  // when the records were dumped, by the hosts' clocks
};

struct FindingEffect {
  std::optional<double> ratio;     // time with the cause / time without it
  std::optional<double> added_ns;  // to one operation, typically
};

// A row of a table of the store, and where in its source it comes from.
struct EvidenceRow {
  std::string table;
  std::string row;        // "series=3,sequence=12"
  std::string source;     // path
  uint64_t position = 0;  // line; 0 for what has none
  double exec_time_ns = 0;
  std::string role;  // what it shows: "late", "waits", "slow", "normal"
};

struct Finding {
  FindingKind kind = FindingKind::kLateRank;
  std::string run;
  FindingPlace where;
  FindingRange range;
  FindingEffect effect;
  double confidence = 0;    // 0 to 1
  uint64_t operations = 0;  // that it rests on
  std::vector<EvidenceRow> evidence;
  std::vector<std::string> also;  // communicators and operations that show the same cause
  std::string note;               // what limits it
  std::string text;
};

// What could not be judged, and why.
struct NotKnown {
  std::string run;
  std::string reason;  // a word: sampled_producer, missing_rank, few_operations …
  std::string communicator;
  std::string text;
};

struct Findings {
  std::vector<Finding> findings;
  std::vector<NotKnown> not_known;
  uint64_t records = 0;     // looked at
  uint64_t operations = 0;  // matched over at least two ranks
};

// `run` empty: every run of the store, each by itself. A run that is not in the store is an error.
Result<Findings> FindCulprits(Store& store, const std::string& run);

}  // namespace telltale::collectives
