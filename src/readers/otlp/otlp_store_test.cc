// OpenTelemetry's JSON in the store, by way of an ingest.

#include <gtest/gtest.h>

#include "readers/otlp/otlp_test_lines.h"
#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using Strings = std::vector<std::string>;

TEST(OtlpStore, RowsAndLossesOfFiles) {
  TempFolder folder;
  TestStore store;
  const std::string resource =
      R"({"key":"service.name","value":{"stringValue":"vllm"}},{"key":"process.pid","value":{"intValue":7}})";
  const std::string text =
      Line(SpanText(1, "a", R"(,"kind":2,"attributes":[{"key":"n","value":{"intValue":5}}])"),
           resource) +
      Line(SpanText(2, "b\\u0000c") + "," + SpanText(1, "again") + ",{}") +
      R"({"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"12","body":{"stringValue":"hello"}}]}]}]})"
      "\n{\"resourceSpans\":[{";
  folder.Write("traces.jsonl", text);
  folder.Write("copy/traces.json.gz", Gzipped(Line(SpanText(5, "e"))));
  IngestReport report = store.Ingest({folder.path()});
  ASSERT_EQ(report.sources.size(), 2U);
  for (const SourceReport& source : report.sources) {
    EXPECT_EQ(source.status, SourceStatus::kIngested) << source.message;
    EXPECT_EQ(source.format, "otlp");
    EXPECT_EQ(source.records, source.rows + LineLossesOf(source));
  }
  EXPECT_EQ(
      store.Rows(
          "SELECT position, trace_id, span_id, name, kind, start_ns, end_ns, service, host, pid,"
          " scope, attributes, attributes->>'n' FROM span ORDER BY span_id"),
      (Strings{"0|5b8efff798038103d269b633813fc60c|0000000000000001|a|server|1758610505947721376|"
               "1758610505947721999|vllm|-|7|vllm.llm_engine|{\"n\":5}|5",
               "1|5b8efff798038103d269b633813fc60c|0000000000000002|" + std::string("b\0c", 3) +
                   "|-|1758610505947721376|1758610505947721999|-|-|-|vllm.llm_engine|-|-",
               "0|5b8efff798038103d269b633813fc60c|0000000000000005|e|-|1758610505947721376|"
               "1758610505947721999|-|-|-|vllm.llm_engine|-|-"}));
  EXPECT_EQ(store.Rows("SELECT position, time_ns, body FROM otlp_log"), Strings{"0|12|hello"});
  EXPECT_EQ(store.Rows("SELECT class, kind, count, first_position FROM ingest_loss ORDER BY kind"),
            (Strings{"note|cut_file|1|3", "line|duplicate_span|1|1", "line|invalid_line|1|3",
                     "line|invalid_span|1|1"}));
  EXPECT_EQ(store.Rows("SELECT lines, rows FROM source ORDER BY lines"), (Strings{"1|1", "6|3"}));

  // A file that has grown takes its own place; one that is there already is no second.
  folder.Write("traces.jsonl", text + "]}]}\n" + Line(SpanText(6, "f")));
  report = store.Ingest({folder.path()});
  EXPECT_EQ(store.Integer("SELECT count(*) FROM span"), 4);
  EXPECT_EQ(store.Integer("SELECT count(*) FROM otlp_log"), 1);
  EXPECT_EQ(store.Integer("SELECT count(*) FROM source"), 2);
}

}  // namespace
}  // namespace telltale::test
