#include "readers/kineto/event_parser.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "readers/kineto/json_cursor.h"
#include "readers/kineto/micro_time.h"

namespace telltale::kineto {
namespace {

using trace::EventKind;

// More namings than this are only counted: no trace has so many threads.
constexpr size_t kMaxNamings = 1 << 20;

struct Category {
  std::string_view name;
  EventKind kind;
  bool is_gpu;
};

constexpr Category kCategories[] = {
    {"cpu_op", EventKind::kOperator, false},
    {"python_function", EventKind::kPython, false},
    {"cuda_runtime", EventKind::kRuntime, false},
    {"kernel", EventKind::kKernel, true},
    {"user_annotation", EventKind::kRange, false},
    {"gpu_memcpy", EventKind::kMemcpy, true},
    {"gpu_memset", EventKind::kMemset, true},
    {"cuda_driver", EventKind::kDriver, false},
    {"cuda_sync", EventKind::kSync, true},
    {"gpu_user_annotation", EventKind::kRange, true},
    {"cpu_instant_event", EventKind::kMarker, false},
    // 2022
    {"Operator", EventKind::kOperator, false},
    {"Runtime", EventKind::kRuntime, false},
    {"Kernel", EventKind::kKernel, true},
    {"Memcpy", EventKind::kMemcpy, true},
    {"Memset", EventKind::kMemset, true},
    // other devices
    {"hip_runtime", EventKind::kRuntime, false},
    {"xpu_runtime", EventKind::kRuntime, false},
    {"privateuse1_runtime", EventKind::kRuntime, false},
    {"privateuse1_driver", EventKind::kDriver, false},
    {"concurrent_kernel", EventKind::kKernel, true},
};

const Category* CategoryOf(std::string_view name) {
  for (const Category& category : kCategories) {
    if (category.name == name) return &category;
  }
  return nullptr;
}

bool IsCommunication(std::string_view name) {
  return name == "record_param_comms" || name.starts_with("nccl:") || name.starts_with("gloo:");
}

uint64_t IdOf(std::string_view text) {
  if (const auto number = NumberOf<uint64_t>(text)) return *number;
  if (const auto number = NumberOf<int64_t>(text)) return static_cast<uint64_t>(*number);
  if (text.starts_with("0x")) {
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    if (error == std::errc() && end == text.data() + text.size()) return value;
  }
  return trace::kNoCorrelation;
}

void ReadTriple(JsonCursor& cursor, uint32_t (&out)[3]) {
  if (!cursor.Take('[')) {
    (void)cursor.SkipValue();
    return;
  }
  std::string_view text;
  for (size_t i = 0; cursor.Peek() != ']' && cursor.Scalar(text); ++i) {
    if (i < 3) out[i] = NumberOf<uint32_t>(text).value_or(0);
    (void)cursor.Take(',');
  }
  (void)cursor.Take(']');
}

struct Arguments {
  std::string_view correlation, external_id, bytes, registers, shared_memory, graph_node, name,
      labels, record_correlation;
  std::string_view collective, data_type, group_name, group_description, group_ranks, comms_id,
      in_elements, out_elements, group_size, rank, sequence;
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  bool has_grid = false;
};

std::string_view* ArgumentOf(std::string_view key, Arguments& arguments) {
  struct Known {
    std::string_view key;
    std::string_view Arguments::*member;
  };
  static constexpr Known kKnown[] = {
      {"External id", &Arguments::external_id},
      {"correlation", &Arguments::correlation},
      {"external id", &Arguments::external_id},
      {"bytes", &Arguments::bytes},
      {"registers per thread", &Arguments::registers},
      {"shared memory", &Arguments::shared_memory},
      {"graph node id", &Arguments::graph_node},
      {"wait_on_cuda_event_record_corr_id", &Arguments::record_correlation},
      {"name", &Arguments::name},
      {"labels", &Arguments::labels},
      {"Collective name", &Arguments::collective},
      {"dtype", &Arguments::data_type},
      {"Process Group Name", &Arguments::group_name},
      {"Process Group Description", &Arguments::group_description},
      {"Process Group Ranks", &Arguments::group_ranks},
      {"Comms Id", &Arguments::comms_id},
      {"In msg nelems", &Arguments::in_elements},
      {"Out msg nelems", &Arguments::out_elements},
      {"Group size", &Arguments::group_size},
      {"Rank", &Arguments::rank},
      {"Seq", &Arguments::sequence},
  };
  // Most arguments are others, and most of those have another length.
  static constexpr uint64_t kLengths = [] {
    uint64_t lengths = 0;
    for (const Known& known : kKnown) lengths |= uint64_t{1} << known.key.size();
    return lengths;
  }();
  if (key.size() >= 64 || (kLengths >> key.size() & 1) == 0) return nullptr;
  for (const Known& known : kKnown) {
    if (known.key.size() == key.size() && known.key == key) return &(arguments.*known.member);
  }
  return nullptr;
}

bool ReadArguments(JsonCursor& cursor, Arguments& arguments) {
  if (!cursor.Take('{')) return cursor.SkipValue();
  std::string_view key;
  while (!cursor.Take('}')) {
    if (!cursor.String(key) || !cursor.Take(':')) return false;
    if (key == "grid" || key == "block") {
      const bool is_grid = key[0] == 'g';
      arguments.has_grid = arguments.has_grid || is_grid;
      ReadTriple(cursor, is_grid ? arguments.grid : arguments.block);
    } else {
      std::string_view* const wanted = ArgumentOf(key, arguments);
      if (wanted == nullptr || cursor.Peek() == '{' || cursor.Peek() == '[') {
        if (!cursor.SkipValue()) return false;
      } else if (!cursor.Scalar(*wanted)) {
        return false;
      }
    }
    (void)cursor.Take(',');
  }
  return true;
}

}  // namespace

struct EventParser::Fields {
  std::string_view phase, category, name, pid, tid, time, duration, id;
  std::string_view arguments_text;
  Arguments arguments;
};

bool EventParser::ReadFields(std::string_view element, Fields& fields) {
  JsonCursor cursor(element);
  if (!cursor.Take('{')) return false;
  std::string_view key;
  while (!cursor.Take('}')) {
    if (!cursor.String(key) || !cursor.Take(':')) return false;
    std::string_view* wanted = nullptr;
    if (key == "ph") {
      wanted = &fields.phase;
    } else if (key == "cat") {
      wanted = &fields.category;
    } else if (key == "name") {
      wanted = &fields.name;
    } else if (key == "pid") {
      wanted = &fields.pid;
    } else if (key == "tid") {
      wanted = &fields.tid;
    } else if (key == "ts") {
      wanted = &fields.time;
    } else if (key == "dur") {
      wanted = &fields.duration;
    } else if (key == "id") {
      wanted = &fields.id;
    } else if (key == "args") {
      const char* const begin = cursor.position();
      if (!ReadArguments(cursor, fields.arguments)) return false;
      fields.arguments_text =
          std::string_view(begin, static_cast<size_t>(cursor.position() - begin));
      (void)cursor.Take(',');
      continue;
    }
    if (wanted == nullptr || cursor.Peek() == '{' || cursor.Peek() == '[') {
      if (!cursor.SkipValue()) return false;
    } else if (!cursor.Scalar(*wanted)) {
      return false;
    }
    (void)cursor.Take(',');
  }
  return cursor.AtEnd();
}

uint32_t EventParser::NameOf(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return part_.names.Add(raw);
  return part_.names.Add(Unescaped(raw));
}

uint32_t EventParser::TrackOf(std::string_view pid, std::string_view tid, bool is_gpu) {
  if (!part_.tracks.empty() && last_key_.is_gpu == is_gpu && last_key_.tid == tid &&
      last_key_.pid == pid) {
    return last_track_;
  }
  last_key_ = {std::string(pid), std::string(tid), is_gpu};
  const auto [place, added] =
      track_numbers_.try_emplace(last_key_, static_cast<uint32_t>(part_.tracks.size()));
  if (added) part_.tracks.push_back(last_key_);
  last_track_ = place->second;
  return last_track_;
}

void EventParser::AddEvent(const Fields& fields, int64_t start_ns, int64_t duration_ns,
                           uint64_t position) {
  const Arguments& arguments = fields.arguments;
  const Category* const category = CategoryOf(fields.category);
  trace::Event event;
  event.kind = category != nullptr ? category->kind : EventKind::kOther;
  if (fields.phase == "i" || fields.phase == "I") event.kind = EventKind::kMarker;
  const bool is_gpu = category != nullptr && category->is_gpu;
  if (!is_gpu && (event.kind == EventKind::kOperator || event.kind == EventKind::kRange) &&
      IsCommunication(fields.name)) {
    event.kind = EventKind::kCommunication;
  }
  event.start_ns = start_ns;
  event.duration_ns = duration_ns;
  event.correlation = IdOf(arguments.correlation);
  event.external_id = IdOf(arguments.external_id);
  event.position = position;
  event.track = TrackOf(fields.pid, fields.tid, is_gpu);
  event.name = NameOf(fields.name);
  event.nests = event.kind != EventKind::kMarker && event.kind != EventKind::kOther;

  const auto index = static_cast<uint32_t>(part_.events.size());
  part_.events.push_back(event);
  if (event.kind == EventKind::kKernel && arguments.has_grid) {
    trace::KernelLaunch launch;
    launch.event = index;
    for (int i = 0; i < 3; ++i) {
      launch.grid[i] = arguments.grid[i];
      launch.block[i] = arguments.block[i];
    }
    launch.registers_per_thread = NumberOf<uint32_t>(arguments.registers).value_or(0);
    launch.shared_memory_bytes = NumberOf<uint32_t>(arguments.shared_memory).value_or(0);
    launch.graph_node = NumberOf<int64_t>(arguments.graph_node).value_or(-1);
    part_.launches.push_back(launch);
  }
  if (event.kind == EventKind::kMemcpy || event.kind == EventKind::kMemset) {
    if (const auto bytes = NumberOf<uint64_t>(arguments.bytes)) {
      part_.memory.push_back({index, *bytes});
    }
  }
  if (event.kind == EventKind::kSync) {
    // Zero and minus one stand for none.
    const auto recorded = NumberOf<int64_t>(arguments.record_correlation);
    if (recorded && *recorded > 0) {
      part_.waits.push_back({index, trace::kNoEvent, static_cast<uint64_t>(*recorded)});
    }
  }
  if (!arguments.collective.empty()) {
    trace::Communication communication;
    communication.event = index;
    communication.collective = Unescaped(arguments.collective);
    communication.data_type = Unescaped(arguments.data_type);
    communication.group_name = Unescaped(arguments.group_name);
    communication.group_description = Unescaped(arguments.group_description);
    communication.group_ranks = Unescaped(arguments.group_ranks);
    communication.communicator_id = Unescaped(arguments.comms_id);
    communication.in_elements = NumberOf<int64_t>(arguments.in_elements);
    communication.out_elements = NumberOf<int64_t>(arguments.out_elements);
    communication.group_size = NumberOf<int64_t>(arguments.group_size);
    communication.rank = NumberOf<int64_t>(arguments.rank);
    communication.sequence = NumberOf<int64_t>(arguments.sequence);
    part_.communications.push_back(std::move(communication));
  }
}

// Each number of the arguments is a counter of its own.
bool EventParser::AddCounters(const Fields& fields, int64_t time_ns) {
  const size_t before = part_.counters.size();
  JsonCursor cursor(fields.arguments_text);
  if (!cursor.Take('{')) return false;
  std::string_view key, text;
  while (!cursor.Take('}')) {
    if (!cursor.String(key) || !cursor.Take(':')) break;
    if (cursor.Peek() == '{' || cursor.Peek() == '[' || cursor.Peek() == '"') {
      if (!cursor.SkipValue()) break;
    } else if (!cursor.Scalar(text)) {
      break;
    } else if (const auto value = NumberOf<double>(text); value && std::isfinite(*value)) {
      trace::CounterValue counter;
      counter.time_ns = time_ns;
      counter.track = TrackOf(fields.pid, fields.tid, false);
      counter.name = key == "value" ? NameOf(fields.name)
                                    : NameOf(std::string(fields.name) + "/" + std::string(key));
      counter.value = *value;
      part_.counters.push_back(counter);
    }
    (void)cursor.Take(',');
  }
  return part_.counters.size() > before;
}

void EventParser::Parse(std::string_view element, uint64_t position) {
  ++part_.records;
  Fields fields;
  if (!ReadFields(element, fields)) return Lose(EventLoss::kInvalidEvent, position);
  if (fields.phase.empty()) return Lose(EventLoss::kMissingField, position);
  if (fields.phase.size() != 1) return Lose(EventLoss::kUnknownPhase, position);
  const char phase = fields.phase[0];

  if (phase == 'M') {
    ++part_.namings_seen;
    const Arguments& arguments = fields.arguments;
    const std::string_view value = arguments.name.empty() ? arguments.labels : arguments.name;
    if (value.empty() || part_.namings.size() >= kMaxNamings) return;
    part_.namings.push_back({std::string(fields.name), std::string(fields.pid),
                             std::string(fields.tid), Unescaped(value)});
    return;
  }
  if (std::string_view("XiIBEstfC").find(phase) == std::string_view::npos) {
    return Lose(EventLoss::kUnknownPhase, position);
  }
  if (fields.time.empty()) return Lose(EventLoss::kMissingField, position);
  const std::optional<int64_t> time_ns = NanosecondsOf(fields.time);
  if (!time_ns || !trace::IsPlausible(*time_ns, 0)) return Lose(EventLoss::kInvalidTime, position);

  switch (phase) {
    case 'X': {
      int64_t duration_ns = trace::kUnfinished;
      if (!fields.duration.empty()) {
        const std::optional<int64_t> duration = NanosecondsOf(fields.duration);
        if (!duration || *duration < 0 || !trace::IsPlausible(*time_ns, *duration)) {
          return Lose(EventLoss::kInvalidTime, position);
        }
        duration_ns = *duration;
      }
      return AddEvent(fields, *time_ns, duration_ns, position);
    }
    case 'i':
    case 'I':
      return AddEvent(fields, *time_ns, 0, position);
    case 'B':
    case 'E': {
      const Category* const category = CategoryOf(fields.category);
      RangeEdge edge;
      edge.time_ns = *time_ns;
      edge.position = position;
      edge.track = TrackOf(fields.pid, fields.tid, category != nullptr && category->is_gpu);
      edge.name = NameOf(fields.name);
      edge.kind = category != nullptr ? category->kind : EventKind::kRange;
      edge.is_begin = phase == 'B';
      part_.edges.push_back(edge);
      return;
    }
    case 'C':
      // One without a number says nothing.
      if (!AddCounters(fields, *time_ns)) Lose(EventLoss::kMissingField, position);
      return;
    default: {
      trace::FlowPoint flow;
      flow.time_ns = *time_ns;
      flow.id = IdOf(fields.id);
      flow.category = NameOf(fields.category);
      flow.track = TrackOf(fields.pid, fields.tid, false);
      flow.phase = phase == 's' ? 0 : phase == 't' ? 1 : 2;
      part_.flows.push_back(flow);
    }
  }
}

}  // namespace telltale::kineto
