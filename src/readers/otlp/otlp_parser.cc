#include "readers/otlp/otlp_parser.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_text.h"

namespace telltale::otlp {
namespace {

namespace dom = simdjson::dom;

// What is said once and stands beside many records must not make the store larger than the file.
std::string Shortened(std::string_view text) {
  constexpr size_t kMostBytes = 1024;
  if (text.size() <= kMostBytes) return std::string(text);
  size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

std::string_view TextOf(const dom::element& value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// 0: not said. Nothing: not to be read, or beyond 63 bits.
std::optional<int64_t> ReadTime(const dom::element& value) {
  if (value.is_null()) return 0;
  const auto time_ns = ReadInteger(value);
  return time_ns && *time_ns >= 0 ? time_ns : std::nullopt;
}

template <typename Each>
bool ForEachItem(const dom::element& list, const Each& each) {
  dom::array items;
  if (list.is_null()) return true;
  if (list.get_array().get(items) != simdjson::SUCCESS) return false;
  for (const dom::element item : items) each(item);
  return true;
}

bool IsScopes(const FoldedKey& key) {
  return key == "scopespans" || key == "scopelogs" || key == "scopemetrics" ||
         key == "instrumentationlibraryspans";
}

}  // namespace

OtlpParser::OtlpParser(RecordSink& sink)
    : sink_(sink),
      documents_([this](const Document& document) { return ReadDocument(document); }) {}

Status OtlpParser::Finish() {
  TELLTALE_ASSIGN(const bool is_cut, documents_.Finish());
  if (is_cut) Note("cut_file", "the file ends within an object");
  return {};
}

Status OtlpParser::ReadDocument(const Document& document) {
  line_ = document.line;
  if (!document.fault.empty()) {
    Broken(document.fault);
    return {};
  }
  dom::object root;
  auto error = parser_.parse(document.text.data(), document.text.size()).get(root);
  if (error != simdjson::SUCCESS) {
    const std::string repaired = Repaired(document.text);
    if (!repaired.empty()) error = parser_.parse(repaired).get(root);
    if (error != simdjson::SUCCESS) {
      Broken(simdjson::error_message(error));
      return {};
    }
    Note("repaired_line", "bytes that are not UTF-8, or NaN without quotes, in an object");
  }
  return ReadRoot(root);
}

Status OtlpParser::ReadRoot(const dom::object& root) {
  bool is_known = root.begin() == root.end();
  bool is_resource = false;
  for (const dom::key_value_pair pair : root) {
    const FoldedKey key(pair.key);
    if (key == "resourcespans" || key == "resourcelogs" || key == "resourcemetrics") {
      is_known = true;
      TELLTALE_TRY(ReadResources(pair.value));
    }
    is_resource = is_resource || IsScopes(key);
  }
  if (is_resource) return ReadResource(root);
  if (!is_known) Broken("an object without records of OpenTelemetry");
  return {};
}

Status OtlpParser::ReadResources(const Element& list) {
  Status status;
  const bool is_list = ForEachItem(list, [&](const Element& item) {
    dom::object object;
    if (!status) return;
    if (item.get_object().get(object) == simdjson::SUCCESS) {
      status = ReadResource(object);
    } else {
      Broken("a resource that is no object");
    }
  });
  if (!is_list) Broken("resources that are no list");
  return status;
}

Status OtlpParser::ReadResource(const dom::object& object) {
  origin_ = {};
  for (const dom::key_value_pair pair : object) {
    dom::object resource;
    if (!(FoldedKey(pair.key) == "resource")) continue;
    if (pair.value.get_object().get(resource) != simdjson::SUCCESS) continue;
    Attribute service, host, pid;
    for (const dom::key_value_pair member : resource) {
      if (FoldedKey(member.key) == "attributes") {
        ReadAttributes(member.value,
                       {{"service.name", &service}, {"host.name", &host}, {"process.pid", &pid}});
      }
    }
    origin_.service = Shortened(service.text);
    origin_.host = Shortened(host.text);
    origin_.pid = pid.integer;
  }
  for (const dom::key_value_pair pair : object) {
    if (IsScopes(FoldedKey(pair.key))) TELLTALE_TRY(ReadScopes(pair.value));
  }
  return {};
}

Status OtlpParser::ReadScopes(const Element& list) {
  Status status;
  const bool is_list = ForEachItem(list, [&](const Element& item) {
    dom::object object;
    if (!status) return;
    if (item.get_object().get(object) == simdjson::SUCCESS) {
      status = ReadScope(object);
    } else {
      Broken("a scope that is no object");
    }
  });
  if (!is_list) Broken("scopes that are no list");
  return status;
}

Status OtlpParser::ReadScope(const dom::object& object) {
  origin_.scope.clear();
  for (const dom::key_value_pair pair : object) {
    const FoldedKey key(pair.key);
    dom::object scope;
    if (!(key == "scope") && !(key == "instrumentationlibrary")) continue;
    if (pair.value.get_object().get(scope) != simdjson::SUCCESS) continue;
    for (const dom::key_value_pair member : scope) {
      if (FoldedKey(member.key) == "name") origin_.scope = Shortened(TextOf(member.value));
    }
  }
  for (const dom::key_value_pair pair : object) {
    const FoldedKey key(pair.key);
    if (key == "spans") TELLTALE_TRY(ReadRecords(pair.value, &OtlpParser::ReadSpan));
    if (key == "logrecords" || key == "logs") {
      TELLTALE_TRY(ReadRecords(pair.value, &OtlpParser::ReadLogRecord));
    }
    if (key == "metrics") TELLTALE_TRY(ReadRecords(pair.value, &OtlpParser::CountPoints));
  }
  return {};
}

Status OtlpParser::ReadRecords(const Element& list, Status (OtlpParser::*read)(const Element&)) {
  Status status;
  const bool is_list = ForEachItem(list, [&](const Element& item) {
    if (status) status = (this->*read)(item);
  });
  if (!is_list) Broken("records that are no list");
  return status;
}

Status OtlpParser::ReadSpan(const Element& record) {
  Span span;
  span.position = spans_++;
  std::optional<Id<16>> trace;
  std::optional<Id<8>> id;
  std::optional<int64_t> start_ns, end_ns;
  dom::object object;
  if (record.get_object().get(object) == simdjson::SUCCESS) {
    for (const dom::key_value_pair pair : object) {
      const FoldedKey key(pair.key);
      const Element& value = pair.value;
      if (key == "traceid") {
        trace = ReadId<16>(TextOf(value));
      } else if (key == "spanid") {
        id = ReadId<8>(TextOf(value));
      } else if (key == "parentspanid") {
        span.parent_span_id = IdOrNone<8>(value);
      } else if (key == "name") {
        span.name = TextOf(value);
      } else if (key == "kind") {
        span.kind = SpanKind(value);
      } else if (key == "starttimeunixnano") {
        start_ns = ReadTime(value);
      } else if (key == "endtimeunixnano") {
        end_ns = ReadTime(value);
      } else if (key == "attributes") {
        attributes_.Add(value);
      } else if (key == "status") {
        ReadStatus(value, span);
      } else if (key == "events") {
        ReadEvents(value, span);
      } else if (key == "links") {
        uint64_t links = 0;
        (void)ForEachItem(value, [&](const Element&) { ++links; });
        Note("unread_link", "links of spans to others are not kept", links);
      } else if (key == "droppedattributescount" || key == "droppedeventscount" ||
                 key == "droppedlinkscount") {
        ReadDropped(value);
      }
    }
  }
  span.attributes = attributes_.Take();
  if (!span.events.empty()) span.events += ']';
  NoteAttributes(attributes_);
  NoteAttributes(event_attributes_);
  if (!trace || !id || start_ns.value_or(0) == 0 || end_ns.value_or(0) == 0) {
    Lose("invalid_span", "without a trace id, a span id, a start or an end");
    return {};
  }
  if (!ids_.Add(*trace, *id)) {
    Lose("duplicate_span", "of the same trace and span id as an earlier one, which was kept");
    return {};
  }
  if (*end_ns < *start_ns) Note("negative_span", "ends before it starts: its clock was set");
  span.trace_id = HexText(trace->data(), trace->size());
  span.span_id = HexText(id->data(), id->size());
  span.start_ns = *start_ns;
  span.end_ns = *end_ns;
  ++records_;
  ++rows_;
  return sink_.Take(span, origin_);
}

Status OtlpParser::ReadLogRecord(const Element& record) {
  LogRecord log;
  log.position = log_records_++;
  std::optional<int64_t> time_ns = 0;
  std::optional<int64_t> observed_ns = 0;
  std::string_view severity, severity_text;
  dom::object object;
  if (record.get_object().get(object) != simdjson::SUCCESS) {
    Lose("invalid_log_record", "no object, or with a time that is none");
    return {};
  }
  for (const dom::key_value_pair pair : object) {
    const FoldedKey key(pair.key);
    const Element& value = pair.value;
    if (key == "timeunixnano") {
      time_ns = ReadTime(value);
    } else if (key == "observedtimeunixnano") {
      observed_ns = ReadTime(value);
    } else if (key == "severitynumber") {
      severity = Severity(value);
    } else if (key == "severitytext") {
      severity_text = TextOf(value);
    } else if (key == "body") {
      log.body = attributes_.ValueText(value, true);
    } else if (key == "attributes") {
      attributes_.Add(value);
    } else if (key == "traceid") {
      log.trace_id = IdOrNone<16>(value);
    } else if (key == "spanid") {
      log.span_id = IdOrNone<8>(value);
    } else if (key == "droppedattributescount") {
      ReadDropped(value);
    }
  }
  log.severity = severity.empty() ? severity_text : severity;
  log.attributes = attributes_.Take();
  NoteAttributes(attributes_);
  if (!time_ns || !observed_ns) {
    Lose("invalid_log_record", "no object, or with a time that is none");
    return {};
  }
  if (*time_ns != 0) log.time_ns = time_ns;
  if (*observed_ns != 0) log.observed_ns = observed_ns;
  ++records_;
  ++rows_;
  return sink_.Take(log, origin_);
}

Status OtlpParser::CountPoints(const Element& metric) {
  uint64_t points = 0;
  dom::object object, data;
  if (metric.get_object().get(object) != simdjson::SUCCESS) return {};
  for (const dom::key_value_pair pair : object) {
    if (pair.value.get_object().get(data) != simdjson::SUCCESS) continue;
    for (const dom::key_value_pair member : data) {
      if (!(FoldedKey(member.key) == "datapoints")) continue;
      (void)ForEachItem(member.value, [&](const Element&) { ++points; });
    }
  }
  if (points > 0) Lose("unread_metrics", "data points of metrics are not read", points);
  return {};
}

void OtlpParser::ReadStatus(const Element& value, Span& span) {
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return;
  for (const dom::key_value_pair pair : object) {
    const FoldedKey key(pair.key);
    if (key == "code") span.status = StatusCode(pair.value);
    const std::string_view message = key == "message" ? TextOf(pair.value) : std::string_view();
    if (!message.empty()) attributes_.AddText("otel.status_description", message);
  }
}

void OtlpParser::ReadEvents(const Element& value, Span& span) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  (void)ForEachItem(value, [&](const Element& item) {
    dom::object event;
    if (item.get_object().get(event) != simdjson::SUCCESS || span.events.size() >= kMostBytes) {
      Note("dropped_event", "events of spans that are no objects, or more than are kept");
      return;
    }
    std::string_view name;
    std::optional<int64_t> time_ns;
    for (const dom::key_value_pair pair : event) {
      const FoldedKey key(pair.key);
      if (key == "name") name = TextOf(pair.value);
      if (key == "timeunixnano") time_ns = ReadTime(pair.value);
      if (key == "attributes") event_attributes_.Add(pair.value);
      if (key == "droppedattributescount") ReadDropped(pair.value);
    }
    span.events += span.events.empty() ? '[' : ',';
    span.events += "{\"name\":";
    AppendJsonString(span.events, name);
    if (time_ns.value_or(0) != 0) span.events += fmt::format(",\"time_ns\":{}", *time_ns);
    const std::string attributes = event_attributes_.Take();
    if (!attributes.empty()) (span.events += ",\"attributes\":") += attributes;
    span.events += '}';
  });
}

void OtlpParser::ReadDropped(const Element& value) {
  const int64_t count = ReadInteger(value).value_or(0);
  Note("dropped_by_producer", "attributes, events or links beyond the limits of the producer",
       static_cast<uint64_t>(std::clamp<int64_t>(count, 0, UINT32_MAX)));
}

// Of what only refers to another span; all zeros, too, means none.
template <size_t kBytes>
std::string OtlpParser::IdOrNone(const Element& value) {
  const std::string_view text = TextOf(value);
  const auto id = ReadId<kBytes>(text);
  if (id) return HexText(id->data(), id->size());
  if (text.find_first_not_of("0A=") != std::string_view::npos) {
    Note("invalid_id", "ids of other spans or traces that are none");
  }
  return {};
}

void OtlpParser::NoteAttributes(AttributeWriter& writer) {
  const AttributeWriter::Counts counts = writer.TakeCounts();
  Note("left_out_attribute",
       "command lines, environments and what may hold credentials are not copied", counts.left_out);
  Note("dropped_attribute", "nested deeper, of longer keys or more than are kept", counts.dropped);
  Note("invalid_attribute", "without a key, or of no known type", counts.invalid);
}

}  // namespace telltale::otlp
