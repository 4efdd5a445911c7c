#include "readers/log/log_writer.h"

#include <array>

#include "base/json_text.h"
#include "readers/remove_source.h"
#include "readers/source_writer.h"

namespace telltale::log {
namespace {

// Names come from keys of lines: damaged ones could make any number. The rest is one series
// "other".
constexpr size_t kMostSeries = 16384;

Cell NumberOrNull(int64_t number) { return number < 0 ? Cell() : Cell(number); }

}  // namespace

Result<std::unique_ptr<LogWriter>> LogWriter::Create(Store& store) {
  TELLTALE_ASSIGN(auto connection, store.Connect());
  std::unique_ptr<LogWriter> writer(new LogWriter(store, std::move(connection)));
  static constexpr auto kNumber = ColumnType::kUInt32;
  static constexpr std::array kColumns = {kNumber, kNumber,          kNumber, ColumnType::kInt64,
                                          kNumber, kNumber,          kNumber, kNumber,
                                          kNumber, ColumnType::kText};
  TELLTALE_ASSIGN(writer->lines_, BulkInsert::Create(*writer->connection_, "log_line", kColumns));
  static constexpr auto kBig = ColumnType::kInt64;
  static constexpr auto kText = ColumnType::kText;
  static constexpr std::array kEventColumns = {kBig, kBig, kBig,  kText, kText,
                                               kBig, kBig, kText, kText};
  TELLTALE_ASSIGN(writer->events_,
                  BulkInsert::Create(*writer->connection_, "log_event", kEventColumns));
  static constexpr std::array kSampleColumns = {kBig, kBig, ColumnType::kDouble, kNumber};
  TELLTALE_ASSIGN(writer->samples_,
                  BulkInsert::Create(*writer->connection_, "metric_sample", kSampleColumns));
  return writer;
}

void LogWriter::Begin(int64_t source) {
  source_ = source;
  processes_.Clear();
  locations_.Clear();
  templates_.Clear();
  series_.clear();
  new_series_.clear();
}

Status LogWriter::Write(const LogRows& rows) {
  TELLTALE_TRY(WriteLines(rows));
  TELLTALE_TRY(WriteEvents(rows));
  return WriteValues(rows);
}

Status LogWriter::WriteLines(const LogRows& rows) {
  const auto put = [&](size_t row, std::span<void* const> columns, size_t at) {
    const auto number = [&](size_t column, int64_t value) {
      static_cast<uint32_t*>(columns[column])[at] = static_cast<uint32_t>(value);
    };
    number(0, source_);
    number(1, rows.line[row]);
    number(2, rows.head[row]);
    static_cast<int64_t*>(columns[3])[at] = rows.time_ns[row];
    number(4, static_cast<int64_t>(rows.basis[row]));
    number(5, static_cast<int64_t>(rows.level[row]));
    number(6, processes_.Of(store_, rows.process[row]));
    number(7, locations_.Of(store_, rows.location[row]));
    number(8, templates_.Of(store_, rows.templates[row]));
    static_cast<std::string_view*>(columns[9])[at] = rows.Text(row);
  };
  return lines_->InsertRows(rows.size(), put);
}

Status LogWriter::WriteEvents(const LogRows& rows) {
  const std::vector<LogEvent>& events = rows.observed.events;
  const int64_t first = store_.NextIds(Store::kLogEvent, events.size());
  const auto put = [&](size_t row, std::span<void* const> columns, size_t at) {
    const LogEvent& event = events[row];
    const auto number = [&](size_t column, int64_t value) {
      static_cast<int64_t*>(columns[column])[at] = value;
    };
    const auto text = [&](size_t column, std::string_view value) {
      static_cast<std::string_view*>(columns[column])[at] = value;
    };
    number(0, first + static_cast<int64_t>(row));
    number(1, source_);
    number(2, event.line);
    text(3, event.kind);
    text(4, SeverityName(event.severity));
    number(5, event.rank);
    number(6, event.pid);
    text(7, event.gpu);
    text(8, event.fields);
  };
  return events_->InsertRows(events.size(), put);
}

Status LogWriter::WriteValues(const LogRows& rows) {
  const std::vector<LogValue>& values = rows.observed.values;
  std::string key;
  const auto put = [&](size_t row, std::span<void* const> columns, size_t at) {
    const LogValue& value = values[row];
    key = value.name;
    (key += '\n').append(value.engine) += '\n';
    key.append(reinterpret_cast<const char*>(&value.process), sizeof value.process);
    if (series_.size() >= kMostSeries && !series_.contains(key)) key.clear();
    const auto [series, is_new] = series_.try_emplace(key, 0);
    if (is_new) {
      series->second = store_.NextId(Store::kMetricSeries);
      new_series_.emplace_back(series->second, value);
      if (key.empty()) new_series_.back().second.name = "other";
    }
    static_cast<int64_t*>(columns[0])[at] = series->second;
    static_cast<int64_t*>(columns[1])[at] = value.time_ns;
    static_cast<double*>(columns[2])[at] = value.value;
    static_cast<uint32_t*>(columns[3])[at] = value.line;
  };
  return samples_->InsertRows(values.size(), put);
}

Status LogWriter::Finish(const LogBuilder& builder) {
  LazyAppender processes(*connection_, "log_process");
  for (uint32_t i = 0; i < builder.processes().size(); ++i) {
    const LogProcess& process = builder.processes()[i];
    TELLTALE_TRY(
        processes.Append({Cell(processes_.Of(store_, i)), Cell(source_), TextOrNull(process.name),
                          TextOrNull(process.host), NumberOrNull(process.pid),
                          NumberOrNull(process.rank), TextOrNull(process.roles), Cell(), Cell()}));
  }
  TELLTALE_TRY(processes.Close());
  LazyAppender locations(*connection_, "log_location");
  uint32_t number = 0;
  for (const std::string& text : builder.locations().texts()) {
    TELLTALE_TRY(
        locations.Append({Cell(locations_.Of(store_, number++)), Cell(source_), Cell(text)}));
  }
  TELLTALE_TRY(locations.Close());
  LazyAppender templates(*connection_, "log_template");
  for (uint32_t i = 0; i < builder.templates().size(); ++i) {
    TELLTALE_TRY(templates.Append({Cell(templates_.Of(store_, i)), Cell(source_),
                                   Cell(builder.templates().Text(i)),
                                   Cell(builder.templates().lines(i)), Cell()}));
  }
  TELLTALE_TRY(templates.Close());
  LazyAppender series(*connection_, "metric_series");
  for (const auto& [id, value] : new_series_) {
    const LogProcess& process = builder.processes()[value.process];
    std::string labels;
    for (const auto& [name, text] :
         {std::pair<const char*, std::string>("process", process.name),
          {"roles", process.roles},
          {"engine", value.engine},
          {"rank", process.rank < 0 ? "" : std::to_string(process.rank)}}) {
      if (text.empty()) continue;
      labels += (labels.empty() ? "{" : ",") + JsonString(name) + ":" + JsonString(text);
    }
    TELLTALE_TRY(series.Append({Cell(id), Cell(source_), Cell(value.name), Cell("gauge"), Cell(),
                                TextOrNull(process.host), Cell(), Cell(), Cell(),
                                Cell(labels.empty() ? "{}" : labels + "}")}));
  }
  return series.Close();
}

Status LogWriter::Remove(int64_t source) {
  TELLTALE_TRY(RemoveMetricSamples(*connection_, source));
  return RemoveSource(
      *connection_, source,
      {"log_line", "log_event", "log_process", "log_location", "log_template", "metric_series"});
}

}  // namespace telltale::log
