#include "readers/kineto/event_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "readers/kineto/element_scanner.h"
#include "readers/kineto/json_cursor.h"
#include "readers/kineto/micro_time.h"

namespace telltale::kineto {
namespace {

using trace::EventKind;

// More namings than this are only counted: no trace has so many threads.
constexpr size_t kMaxNamings = 1 << 20;

bool IsCommunication(std::string_view name) {
  return name == "record_param_comms" || name.starts_with("nccl:") || name.starts_with("gloo:");
}

uint64_t IdOf(std::string_view text) {
  if (text.empty()) return trace::kNoCorrelation;
  if (const auto number = NumberOf<uint64_t>(text)) return *number;
  if (text.starts_with("0x")) {
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    if (error == std::errc() && end == text.data() + text.size()) return value;
  }
  if (const auto number = WholeNumberOf<int64_t>(text)) return static_cast<uint64_t>(*number);
  return trace::kNoCorrelation;
}

// The number of a process or thread as others write it: "5.0" is 5.
std::string Plain(std::string_view number) {
  if (!NumberOf<int64_t>(number)) {
    if (const auto whole = WholeNumberOf<int64_t>(number)) return std::to_string(*whole);
  }
  return std::string(number);
}

}  // namespace

uint32_t EventParser::NameOf(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return part_.names.Add(raw);
  return part_.names.Add(Unescaped(raw));
}

uint32_t EventParser::TrackOf(std::string_view pid, std::string_view tid, bool is_gpu) {
  TrackKey& last_key = last_key_[is_gpu ? 1 : 0];
  std::optional<uint32_t>& last_track = last_track_[is_gpu ? 1 : 0];
  if (last_track && last_key.tid == tid && last_key.pid == pid) return *last_track;
  last_key = {std::string(pid), std::string(tid), is_gpu};
  const auto known = track_numbers_.find(last_key);
  if (known != track_numbers_.end()) {
    last_track = known->second;
    return *last_track;
  }
  const TrackKey key = {Plain(pid), Plain(tid), is_gpu};
  const auto [place, added] =
      track_numbers_.try_emplace(key, static_cast<uint32_t>(part_.tracks.size()));
  if (added) {
    part_.tracks.push_back(key);
    part_.track_events.push_back(0);
    part_.track_work.push_back(0);
  }
  const uint32_t number = place->second;
  track_numbers_.emplace(last_key, number);
  last_track = number;
  return *last_track;
}

void EventParser::AddEvent(int64_t start_ns, int64_t duration_ns, uint64_t position,
                           EventKind unknown) {
  const Category* const category = fields_.category;
  trace::Event event;
  event.kind = category != nullptr ? category->kind : unknown;
  if (fields_.phase == "i" || fields_.phase == "I") event.kind = EventKind::kMarker;
  const bool is_gpu = category != nullptr && category->is_gpu;
  if (!is_gpu && (event.kind == EventKind::kOperator || event.kind == EventKind::kRange) &&
      IsCommunication(fields_.name)) {
    event.kind = EventKind::kCommunication;
  }
  event.start_ns = start_ns;
  event.duration_ns = duration_ns;
  event.correlation = IdOf(fields_.correlation);
  event.external_id = IdOf(fields_.external_id);
  event.position = static_cast<uint32_t>(position);
  event.track = TrackOf(fields_.pid, fields_.tid, is_gpu);
  event.name = NameOf(fields_.name);
  event.nests = event.kind != EventKind::kMarker && event.kind != EventKind::kOther;

  const auto index = static_cast<uint32_t>(part_.events.size());
  part_.events.push_back(event);
  ++part_.track_events[event.track];
  part_.track_work[event.track] += event.kind != EventKind::kOther ? 1 : 0;
  if (!part_.has_nanoseconds) {
    part_.has_nanoseconds = start_ns % 1000 != 0 || std::max<int64_t>(duration_ns, 0) % 1000 != 0;
  }
  AddSideRows(event, index);
}

void EventParser::AddEdge(int64_t time_ns, uint64_t position) {
  RangeEdge edge;
  edge.time_ns = time_ns;
  edge.position = position;
  if (fields_.phase == "B") {
    edge.event = static_cast<uint32_t>(part_.events.size());
    AddEvent(time_ns, trace::kUnfinished, position, EventKind::kRange);
    part_.events.back().records = 2;
    edge.track = part_.events[edge.event].track;
    edge.name = part_.events[edge.event].name;
  } else {
    const Category* const category = fields_.category;
    edge.track = TrackOf(fields_.pid, fields_.tid, category != nullptr && category->is_gpu);
    edge.name = NameOf(fields_.name);
    edge.correlation = IdOf(fields_.correlation);
    edge.external_id = IdOf(fields_.external_id);
    part_.has_nanoseconds = part_.has_nanoseconds || time_ns % 1000 != 0;
  }
  part_.edges.push_back(edge);
}

void EventParser::AddSideRows(const trace::Event& event, uint32_t index) {
  if (event.kind == EventKind::kKernel && fields_.has_grid) {
    trace::KernelLaunch launch;
    launch.event = index;
    for (size_t i = 0; i < 3; ++i) {
      launch.shape.grid[i] = fields_.grid[i];
      launch.shape.block[i] = fields_.block[i];
    }
    launch.shape.registers_per_thread = WholeNumberOf<uint32_t>(fields_.registers).value_or(0);
    launch.shape.shared_memory_bytes = WholeNumberOf<uint32_t>(fields_.shared_memory).value_or(0);
    launch.graph_node = WholeNumberOf<int64_t>(fields_.graph_node).value_or(-1);
    part_.launches.push_back(launch);
  }
  if (event.kind == EventKind::kMemcpy || event.kind == EventKind::kMemset) {
    if (const auto bytes = WholeNumberOf<uint64_t>(fields_.bytes)) {
      part_.memory.push_back({index, *bytes});
    }
  }
  if (event.kind == EventKind::kSync) {
    // Zero and minus one stand for none.
    const auto recorded = WholeNumberOf<int64_t>(fields_.record_correlation);
    if (recorded && *recorded > 0) {
      part_.waits.push_back({index, trace::kNoEvent, static_cast<uint64_t>(*recorded)});
    }
  }
  if (!fields_.collective.empty()) {
    trace::Communication communication;
    communication.event = index;
    communication.collective = Unescaped(fields_.collective);
    communication.data_type = Unescaped(fields_.data_type);
    communication.group_name = Unescaped(fields_.group_name);
    communication.group_description = Unescaped(fields_.group_description);
    communication.group_ranks = Unescaped(fields_.group_ranks);
    communication.communicator_id = Unescaped(fields_.comms_id);
    communication.in_elements = WholeNumberOf<int64_t>(fields_.in_elements);
    communication.out_elements = WholeNumberOf<int64_t>(fields_.out_elements);
    communication.group_size = WholeNumberOf<int64_t>(fields_.group_size);
    communication.rank = WholeNumberOf<int64_t>(fields_.rank);
    communication.sequence = WholeNumberOf<int64_t>(fields_.sequence);
    part_.communications.push_back(std::move(communication));
  }
}

// Each number of the arguments is a counter of its own.
bool EventParser::AddCounters(int64_t time_ns) {
  const size_t before = part_.counters.size();
  JsonCursor cursor(fields_.arguments);
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
      counter.track = TrackOf(fields_.pid, fields_.tid, false);
      counter.name = key == "value" ? NameOf(fields_.name)
                                    : NameOf(std::string(fields_.name) + "/" + std::string(key));
      counter.value = *value;
      counter.records = part_.counters.size() == before ? 1 : 0;
      part_.counters.push_back(counter);
    }
    (void)cursor.Take(',');
  }
  return part_.counters.size() > before;
}

void EventParser::Parse(std::string_view element, uint64_t position) {
  if (!ParseOne(element, position)) ParseWithin(element, position);
}

bool EventParser::ParseOne(std::string_view element, uint64_t position) {
  ++part_.records;
  if (reader_.Read(element, fields_)) {
    AddFields(position);
    return true;
  }
  Lose(EventLoss::kInvalidEvent, position);
  return false;
}

// A quotation mark too many turns inside and outside over up to the next one, and all between seems
// one element.
void EventParser::ParseWithin(std::string_view broken, uint64_t position) {
  constexpr int kMostStarts = 16;  // each looks at all that is left
  std::vector<ElementBounds> elements;
  const std::string_view key = FirstKeyOf(broken);
  size_t from = FindEventStart(broken, 1, key);
  for (int i = 0; i < kMostStarts && from != std::string_view::npos; ++i) {
    ElementScanner scanner;
    scanner.Restart(from);
    elements.clear();
    scanner.Scan(broken.data(), broken.size(), elements);
    size_t behind = from + 1;  // the last that is an event
    bool all_whole = true;
    for (const ElementBounds& element : elements) {
      all_whole = ParseOne(broken.substr(element.begin, element.end - element.begin), position);
      behind = all_whole ? element.end : element.begin + 1;
      if (!all_whole) break;
    }
    if (all_whole && scanner.in_element()) {
      ++part_.records;
      Lose(EventLoss::kInvalidEvent, position);
      behind = scanner.element_begin() + 1;
    }
    from = FindEventStart(broken, behind, key);
  }
}

void EventParser::AddFields(uint64_t position) {
  if (fields_.phase.empty()) return Lose(EventLoss::kMissingField, position);
  if (fields_.phase.size() != 1) return Lose(EventLoss::kUnknownPhase, position);
  const char phase = fields_.phase[0];

  if (phase == 'M') {
    ++part_.namings_seen;
    const std::string_view value =
        fields_.name_argument.empty() ? fields_.labels : fields_.name_argument;
    if (value.empty() || part_.namings.size() >= kMaxNamings) return;
    part_.namings.push_back(
        {std::string(fields_.name), Plain(fields_.pid), Plain(fields_.tid), Unescaped(value)});
    return;
  }
  if (std::string_view("XiIBEstfC").find(phase) == std::string_view::npos) {
    return Lose(EventLoss::kUnknownPhase, position);
  }
  if (fields_.time.empty()) return Lose(EventLoss::kMissingField, position);
  const std::optional<int64_t> time_ns = NanosecondsOf(fields_.time);
  if (!time_ns || !trace::IsPlausible(*time_ns, 0)) return Lose(EventLoss::kInvalidTime, position);

  switch (phase) {
    case 'X': {
      int64_t duration_ns = trace::kUnfinished;
      if (!fields_.duration.empty()) {
        const std::optional<int64_t> duration = NanosecondsOf(fields_.duration);
        if (!duration || *duration < 0 || !trace::IsPlausible(*time_ns, *duration)) {
          return Lose(EventLoss::kInvalidTime, position);
        }
        duration_ns = *duration;
      }
      return AddEvent(*time_ns, duration_ns, position);
    }
    case 'i':
    case 'I':
      return AddEvent(*time_ns, 0, position);
    case 'B':
    case 'E':
      return AddEdge(*time_ns, position);
    case 'C':
      // One without a number says nothing.
      if (!AddCounters(*time_ns)) Lose(EventLoss::kMissingField, position);
      return;
    default: {
      trace::FlowPoint flow;
      flow.time_ns = *time_ns;
      flow.id = IdOf(fields_.id);
      flow.category = NameOf(fields_.category_name);
      flow.track = TrackOf(fields_.pid, fields_.tid, false);
      flow.phase = phase == 's' ? 0 : phase == 't' ? 1 : 2;
      part_.flows.push_back(flow);
    }
  }
}

}  // namespace telltale::kineto
