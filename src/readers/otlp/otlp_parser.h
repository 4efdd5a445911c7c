#pragma once

// OpenTelemetry's JSON (OTLP file exporters) as spans and log records. Each record of a file is
// either given to the sink or counted as a loss of class line: spans, log records, data points of
// metrics (which are not read), and objects that could not be read, each as one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "readers/loss_counts.h"
#include "readers/otlp/json_documents.h"
#include "readers/otlp/otlp_values.h"
#include "readers/otlp/recent_ids.h"

namespace telltale::otlp {

// Who wrote a record, as its resource says. Texts are cut to some length: a resource is said once
// for many records.
struct Origin {
  std::string service, host, scope;
  std::optional<int64_t> pid;
};

// Empty: not said. Times are nanoseconds since 1970, ids lower-case hexadecimal.
struct Span {
  uint64_t position = 0;  // number of the span in the file, from 0
  std::string trace_id, span_id, parent_span_id;
  std::string name;
  std::string_view kind;    // internal, server, client, producer, consumer
  std::string_view status;  // ok, error
  int64_t start_ns = 0, end_ns = 0;
  std::string attributes;  // JSON object
  std::string events;      // JSON: [{"name": …, "time_ns": …, "attributes": {…}}]
};

struct LogRecord {
  uint64_t position = 0;  // number of the log record in the file, from 0
  std::optional<int64_t> time_ns, observed_ns;
  std::string severity;  // TRACE, DEBUG, INFO, WARN, ERROR, FATAL, or the producer's own word
  std::string body;      // a text as it is, everything else as JSON
  std::string trace_id, span_id;
  std::string attributes;  // JSON object
};

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual Status Take(const Span& span, const Origin& origin) = 0;
  virtual Status Take(const LogRecord& record, const Origin& origin) = 0;
};

// One thread at a time. Errors are those of the sink; nothing in a file is one.
class OtlpParser {
 public:
  explicit OtlpParser(RecordSink& sink);

  // Windows of whole lines, as LineWindow gives them.
  Status ParseWindow(std::string_view window, bool is_cut) {
    return documents_.Feed(window, is_cut);
  }
  Status Finish();

  uint64_t records() const { return records_; }
  uint64_t rows() const { return rows_; }
  // Positions are lines of the file, from 0.
  const LossCounts& losses() const { return losses_; }

 private:
  using Element = simdjson::dom::element;

  Status ReadDocument(const Document& document);
  Status ReadRoot(const simdjson::dom::object& root);
  Status ReadResources(const Element& list);
  Status ReadResource(const simdjson::dom::object& object);
  Status ReadScopes(const Element& list);
  Status ReadScope(const simdjson::dom::object& object);
  Status ReadRecords(const Element& list, Status (OtlpParser::*read)(const Element& record));
  Status ReadSpan(const Element& record);
  Status ReadLogRecord(const Element& record);
  Status CountPoints(const Element& metric);
  void ReadStatus(const Element& value, Span& span);
  void ReadEvents(const Element& value, Span& span);
  void ReadDropped(const Element& value);
  template <size_t kBytes>
  std::string IdOrNone(const Element& value);
  void NoteAttributes(AttributeWriter& writer);

  void Broken(std::string_view why) { Lose("invalid_line", why); }
  void Lose(std::string_view kind, std::string_view detail, uint64_t count = 1) {
    records_ += count;
    losses_.Add(kind, "line", count, line_, detail);
  }
  void Note(std::string_view kind, std::string_view detail, uint64_t count = 1) {
    losses_.Add(kind, "note", count, line_, detail);
  }

  RecordSink& sink_;
  JsonDocuments documents_;
  simdjson::dom::parser parser_;
  AttributeWriter attributes_, event_attributes_;
  RecentIds ids_;
  Origin origin_;
  LossCounts losses_;
  uint64_t line_ = 0;
  uint64_t spans_ = 0;
  uint64_t log_records_ = 0;
  uint64_t records_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace telltale::otlp
