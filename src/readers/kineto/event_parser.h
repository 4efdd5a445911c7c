#pragma once

// Reads the events of a Chrome trace as PyTorch's profiler (Kineto) writes them: categories of 2022
// and later, CUDA and ROCm. One parser is used by one thread; several fill parts that are joined
// afterwards (trace_builder.h).

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.h"
#include "readers/kineto/event_fields.h"
#include "readers/trace/trace_data.h"

namespace telltale::kineto {

// Where an event lies, as the file says: pid and tid (numbers or words), and whether they mean a
// device and a stream. A device may have the number of a process.
struct TrackKey {
  std::string pid, tid;
  bool is_gpu = false;
  auto operator<=>(const TrackKey&) const = default;
};

// A record that names a process or thread ("M").
struct Naming {
  std::string kind;  // process_name, process_labels, thread_name, …
  std::string pid, tid;
  std::string value;
};

// A "B" or "E" event, to be matched over the whole file. What an "E" says of ids counts where its
// "B" says nothing.
struct RangeEdge {
  int64_t time_ns = 0;
  uint64_t position = 0;
  uint64_t correlation = trace::kNoCorrelation;
  uint64_t external_id = trace::kNoCorrelation;
  uint32_t event = trace::kNoEvent;  // that a "B" has begun
  uint32_t track = 0;
  uint32_t name = 0;
  bool is_begin() const { return event != trace::kNoEvent; }
};

enum class EventLoss {
  kInvalidEvent,  // not an object, or not JSON to its end
  kMissingField,  // no phase or no time
  kInvalidTime,   // not a number, beyond 64 bits, or a negative duration
  kUnknownPhase,
  kUnmatchedEdge,
  kDuplicate,
};
inline constexpr size_t kEventLosses = static_cast<size_t>(EventLoss::kDuplicate) + 1;

struct LossCount {
  uint64_t count = 0;
  uint64_t first_position = 0;
  void Add(uint64_t position) {
    if (count++ == 0 || position < first_position) first_position = position;
  }
};

// What one parser has read. Numbers of names and tracks, and event indexes, are of this part.
struct TracePart : trace::TraceRows {
  Interner names;
  std::vector<TrackKey> tracks;
  std::vector<uint64_t> track_events;  // by track
  std::vector<uint64_t> track_work;    // of them: of a known category
  bool has_nanoseconds = false;        // some time is not of whole microseconds
  std::vector<RangeEdge> edges;
  std::vector<Naming> namings;
  uint64_t namings_seen = 0;
  std::array<LossCount, kEventLosses> losses;
  uint64_t records = 0;
};

class EventParser {
 public:
  explicit EventParser(TracePart& part) : part_(part) {}

  // Takes in one element of traceEvents. Where it is no event, but holds some, as when quotation
  // marks are missing at two places, those are taken in too, with the same position.
  void Parse(std::string_view element, uint64_t position);

 private:
  // False, and the element counted, where it is not JSON.
  bool ParseOne(std::string_view element, uint64_t position);
  void ParseWithin(std::string_view broken, uint64_t position);
  void AddFields(uint64_t position);
  // `unknown`: what an event of no known category is.
  void AddEvent(int64_t start_ns, int64_t duration_ns, uint64_t position,
                trace::EventKind unknown = trace::EventKind::kOther);
  void AddEdge(int64_t time_ns, uint64_t position);
  void AddSideRows(const trace::Event& event, uint32_t index);
  // Whether there was one.
  bool AddCounters(int64_t time_ns);
  void Lose(EventLoss loss, uint64_t position) {
    part_.losses[static_cast<size_t>(loss)].Add(position);
  }
  uint32_t TrackOf(std::string_view pid, std::string_view tid, bool is_gpu);
  uint32_t NameOf(std::string_view raw);

  TracePart& part_;
  EventFieldReader reader_;
  EventFields fields_;  // of the event at hand
  std::map<TrackKey, uint32_t> track_numbers_;
  // The last of a thread, and of a stream.
  std::array<TrackKey, 2> last_key_;
  std::array<std::optional<uint32_t>, 2> last_track_;
};

}  // namespace telltale::kineto
