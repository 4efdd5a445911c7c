#include "readers/flight_recorder/flight_recorder_format.h"

#include "base/text.h"
#include "readers/flight_recorder/dump.h"
#include "readers/remove_source.h"
#include "readers/source_writer.h"
#include "store/bulk_insert.h"
#include "store/transaction.h"

namespace telltale::flight_recorder {
namespace {

// A ring buffer of ten thousand entries with stacks takes some megabytes.
constexpr size_t kMostBytes = size_t{128} << 20;

bool Recognises(std::string_view head, std::string_view path) {
  // A rank that hangs may leave a file without content, which is evidence.
  return head.empty() ? IsNamedAsDump(path) : LooksLikeDump(head);
}

template <typename Value>
Cell CellOf(const std::optional<Value>& value) {
  return value ? Cell(*value) : Cell();
}
Cell CellOf(const std::optional<std::string>& text) {
  return text ? Cell(StoredText(*text)) : Cell();
}
Cell CellOf(const std::string& text) { return TextOrNull(StoredText(text)); }

Result<std::string> ReadAll(ByteStream& bytes) {
  constexpr size_t kStep = size_t{1} << 20;
  std::string text;
  while (true) {
    const size_t before = text.size();
    text.resize(before + kStep);
    TELLTALE_ASSIGN(const size_t got, bytes.Read(std::span(text.data() + before, kStep)));
    text.resize(before + got);
    if (got < kStep) return text;
    if (text.size() > kMostBytes) return Fail("larger than a dump can be");
  }
}

class Worker : public SourceWorker {
 public:
  Worker(Store& store, std::unique_ptr<Connection> connection, WorkerOptions options)
      : store_(store), connection_(std::move(connection)), options_(std::move(options)) {}

  Status Ingest(const SourceFile& file, OpenedSource source, SourceReport& report) override {
    const auto text = ReadAll(*source.bytes);
    if (options_.on_progress) options_.on_progress(source.fingerprint->size());
    if (!text) {
      report.message = text.error().message;
      return {};
    }
    Dump dump;
    if (!text->empty()) {
      auto read = ReadDump(*text);
      if (!read) {
        report.message = read.error().message;
        return {};
      }
      dump = std::move(*read);
    }
    SourceRow row = DescribeSource(file, source, "flight_recorder", text->size());
    row.format_version = StoredText(dump.version);
    if (IsKnownSource(options_, row, report)) return {};
    const std::vector<SourceLoss> losses = LossesOf(dump, row, text->empty());
    const SourceCounts counts = {dump.records, dump.entries.size()};
    TELLTALE_TRY(Write(row, dump, counts, losses));
    ReportSource(row, counts, losses, report);
    return {};
  }

  Status Flush() override { return {}; }
  Status Remove(int64_t source) override {
    return InTransaction(*connection_, [&] { return RemoveRows(source); });
  }

 private:
  static std::vector<SourceLoss> LossesOf(const Dump& dump, const SourceRow& row, bool is_empty) {
    std::vector<SourceLoss> losses;
    if (dump.invalid_entries > 0) {
      losses.push_back({"invalid_entry", "line", dump.invalid_entries, dump.first_invalid,
                        "without an operation or a state, or more than a dump can have"});
    }
    const auto note = [&](const char* kind, uint64_t count, const std::string& detail) {
      if (count > 0) losses.push_back({kind, "note", count, 0, detail});
    };
    note("empty_dump", is_empty ? 1 : 0, "the rank wrote a dump without content");
    note("cut_file", dump.damage.empty() ? 0 : 1, dump.damage);
    note("damaged_compression", row.damage.empty() ? 0 : 1, row.damage);
    note("unknown_group", dump.unknown_groups,
         "states of process groups whose name nothing in the dump tells");
    return losses;
  }

  Status Write(const SourceRow& row, const Dump& dump, const SourceCounts& counts,
               const std::vector<SourceLoss>& losses) {
    return InTransaction(*connection_, [&]() -> Status {
      if (row.replaces >= 0) TELLTALE_TRY(RemoveRows(row.replaces));
      const int64_t source = store_.NextId(Store::kSource);
      TELLTALE_TRY(WriteDump(source, row, dump));
      return WriteSource(*connection_, source, row, counts, losses);
    });
  }

  Status WriteDump(int64_t source, const SourceRow& row, const Dump& dump) {
    LazyAppender dumps(*connection_, "flight_dump");
    TELLTALE_TRY(dumps.Append({Cell(source), CellOf(RankOfPath(row.path)), CellOf(dump.version),
                               CellOf(dump.nccl_version), Cell(uint64_t{dump.entries.size()})}));
    TELLTALE_TRY(dumps.Close());
    LazyAppender groups(*connection_, "flight_group");
    for (const DumpGroup& group : dump.groups) {
      TELLTALE_TRY(
          groups.Append({Cell(source), CellOf(group.name), CellOf(group.description),
                         CellOf(group.ranks), CellOf(group.local_id), CellOf(group.last_enqueued),
                         CellOf(group.last_started), CellOf(group.last_completed)}));
    }
    TELLTALE_TRY(groups.Close());
    LazyAppender entries(*connection_, "flight_entry");
    for (const DumpEntry& entry : dump.entries) {
      TELLTALE_TRY(entries.Append({Cell(source),
                                   CellOf(entry.record_id),
                                   CellOf(entry.local_group_id),
                                   CellOf(entry.group_name),
                                   CellOf(entry.group_description),
                                   CellOf(entry.operation),
                                   CellOf(entry.is_p2p),
                                   CellOf(entry.collective_sequence),
                                   CellOf(entry.p2p_sequence),
                                   CellOf(entry.operation_id),
                                   CellOf(entry.state),
                                   CellOf(entry.retired),
                                   CellOf(entry.created_ns),
                                   CellOf(entry.started_ns),
                                   CellOf(entry.completed_ns),
                                   CellOf(entry.duration_ms),
                                   CellOf(entry.timeout_ms),
                                   CellOf(entry.input_sizes),
                                   CellOf(entry.input_types),
                                   CellOf(entry.output_sizes),
                                   CellOf(entry.output_types),
                                   CellOf(entry.thread_name),
                                   CellOf(entry.thread_id)}));
    }
    return entries.Close();
  }

  Status RemoveRows(int64_t source) {
    return RemoveSource(*connection_, source, {"flight_dump", "flight_group", "flight_entry"});
  }

  Store& store_;
  std::unique_ptr<Connection> connection_;
  WorkerOptions options_;
};

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  TELLTALE_ASSIGN(auto connection, store.Connect());
  return std::unique_ptr<SourceWorker>(new Worker(store, std::move(connection), options));
}

Status LinkRuns(Store&, std::span<const int64_t>) { return {}; }

}  // namespace

Format FlightRecorderFormat() {
  return {"flight_recorder", Recognises, MakeWorker, LinkRuns, true, IsNamedAsDump};
}

}  // namespace telltale::flight_recorder
