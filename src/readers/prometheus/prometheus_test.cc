// Prometheus' text exposition: lines of every form, what is broken, the real sample, and the store.

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "base/line_window.h"
#include "readers/prometheus/exposition_parser.h"
#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

namespace fs = std::filesystem;
using prometheus::ExpositionParser;
using prometheus::Labels;
using prometheus::LooksLikeExposition;
using prometheus::ReadSampleLine;
using prometheus::Sample;
using prometheus::SampleLine;
using prometheus::Series;
using namespace std::string_view_literals;
using Strings = std::vector<std::string>;

struct Parsed : prometheus::SampleSink {
  Status Take(const Series& one) override {
    series.push_back(one);
    return {};
  }
  Status Take(const Sample& one) override {
    samples.push_back(one);
    return {};
  }
  std::vector<Series> series;
  std::vector<Sample> samples;
  uint64_t records = 0;
  LossCounts losses;
  bool is_open_metrics = false;
};

Parsed Parse(std::string_view bytes, size_t window_bytes = size_t{1} << 18,
             size_t most_line_bytes = size_t{1} << 20) {
  Parsed parsed;
  ExpositionParser parser(parsed);
  const auto stream = MemoryStream(std::span(bytes.data(), bytes.size()));
  LineWindow windows(*stream, window_bytes, most_line_bytes);
  while (true) {
    const auto window = windows.Next();
    EXPECT_TRUE(window);
    if (!window || window->empty()) break;
    EXPECT_TRUE(parser.ParseWindow(*window, windows.cut_line()));
  }
  parsed.records = parser.records();
  parsed.losses = parser.losses();
  parsed.is_open_metrics = parser.is_open_metrics();
  EXPECT_EQ(parsed.samples.size(), parser.rows());
  EXPECT_EQ(parsed.records, parser.rows() + parsed.losses.Records());
  return parsed;
}

std::string DcgmSample() {
  const char* const set = std::getenv("TELLTALE_SAMPLES");
  const fs::path samples =
      set != nullptr ? fs::path(set) : fs::path(TELLTALE_SOURCE_DIR) / "../shared/samples";
  const fs::path path = samples / "logs" / "dcgm_exporter_gb200.prom";
  return fs::exists(path) ? path.string() : "";
}

TEST(Prometheus, LinesOfSamples) {
  SampleLine line;
  ASSERT_TRUE(ReadSampleLine("up 1\n", line));
  EXPECT_EQ(line.name, "up");
  EXPECT_EQ(line.value, 1);
  EXPECT_EQ(line.time_ns, std::nullopt);
  ASSERT_TRUE(ReadSampleLine(
      " a:b_1 { z = \"1\" ,\ty=\"a\\\\b\\\"c\\nd\\te, }{\" , }\t-2.5e3  1758610505947\r\n", line));
  EXPECT_EQ(line.name, "a:b_1");
  EXPECT_EQ(line.labels, (Labels{{"y", "a\\b\"c\nd\\te, }{"}, {"z", "1"}}));
  EXPECT_EQ(line.value, -2500);
  EXPECT_EQ(line.time_ns, 1758610505947000000);
  ASSERT_TRUE(ReadSampleLine("x{} 1 1758610505.947721376", line));
  EXPECT_EQ(line.time_ns, 1758610505947721376);
  ASSERT_TRUE(ReadSampleLine("x 1 1758610505", line));
  EXPECT_EQ(line.time_ns, 1758610505000000000);
  ASSERT_TRUE(ReadSampleLine("x_bucket{le=\"0.1\"} 8 # {trace_id=\"a}b\"} 0.07 1.5", line));
  EXPECT_TRUE(line.has_exemplar);
  ASSERT_TRUE(ReadSampleLine("{\"gpu.power\",gpu=\"0\"} 3", line));
  EXPECT_EQ(line.name, "gpu.power");
  EXPECT_EQ(line.labels, (Labels{{"gpu", "0"}}));
}

TEST(Prometheus, Values) {
  const auto value = [](const std::string& text) {
    SampleLine line;
    EXPECT_TRUE(ReadSampleLine("x " + text, line)) << text;
    return line.value;
  };
  EXPECT_TRUE(std::isnan(value("NaN")));
  EXPECT_EQ(value("+Inf"), INFINITY);
  EXPECT_EQ(value("-Inf"), -INFINITY);
  EXPECT_EQ(value("+1"), 1);
  EXPECT_EQ(value("1e400"), INFINITY);
  EXPECT_EQ(value("-1e400"), -INFINITY);
  EXPECT_EQ(value("1e-400"), 0);
  EXPECT_EQ(value("9007199254740993"), 9007199254740992);
}

TEST(Prometheus, LinesThatAreNone) {
  SampleLine line;
  for (const char* text : {"",
                           "x",
                           "1",
                           "x y",
                           "x{",
                           "x{a",
                           "x{a=",
                           "x{a=\"",
                           "x{a=\"b",
                           "x{a=\"b\"",
                           "x{a=\"b\"}",
                           "x{a=b} 1",
                           "x{a=\"b\" c=\"d\"} 1",
                           "x{a=\"b\",a=\"c\"} 1",
                           "x{=\"b\"} 1",
                           "{} 1",
                           "x 1 y",
                           "x 1 2 3",
                           "x 1 -5",
                           "x 1 1e12",
                           "x 1 99999999999999999999",
                           "x 0x10",
                           "x ++1",
                           "x +-+1",
                           "x 1_000",
                           "x{a=\"\\\"} 1",
                           "x-y 1",
                           "{\"a\",\"b\"} 1",
                           "x{\"a\"} 1",
                           "x 1 # exemplar",
                           "x 1 5.x",
                           "x 1 9223372036854775",
                           "x 1,5"}) {
    EXPECT_FALSE(ReadSampleLine(text, line)) << text;
  }
}

TEST(Prometheus, CommentsSayWhatASeriesIs) {
  const Parsed parsed = Parse(
      "# HELP vllm:e2e_request_latency_seconds Latency \\\\ in\\nseconds.\n"
      "# TYPE vllm:e2e_request_latency_seconds histogram\n"
      "vllm:e2e_request_latency_seconds_bucket{le=\"+Inf\"} 2 # {id=\"7\"} 1\n"
      "vllm:e2e_request_latency_seconds_sum 3\n\n# a remark\n#\n"
      "# TYPE total gauge\ntotal 1\n# TYPE odd none\nodd 1\n");
  ASSERT_EQ(parsed.series.size(), 4U);
  EXPECT_EQ(parsed.series[0].type, "histogram");
  EXPECT_EQ(parsed.series[0].help, "Latency \\ in\nseconds.");
  EXPECT_EQ(parsed.series[1].type, "histogram");
  EXPECT_EQ(parsed.series[2].type, "gauge");
  EXPECT_EQ(parsed.series[2].help, "");
  EXPECT_EQ(parsed.series[3].type, "");
  EXPECT_EQ(parsed.records, 4U);
  EXPECT_EQ(parsed.samples[1].line, 3U);
  EXPECT_EQ(parsed.losses.CountOf("exemplar"), 1U);
}

TEST(Prometheus, SeriesAreTheSameWhateverTheOrderOfLabels) {
  const Parsed parsed = Parse(
      "a{x=\"1\",y=\"2\"} 1\na{y=\"2\",x=\"1\"} 2\na{x=\"1\"} 3\na{x=\"12:\"} 4\nax{} 5\na 6\n");
  std::vector<uint64_t> series;
  for (const Sample& sample : parsed.samples) series.push_back(sample.series);
  EXPECT_EQ(series, (std::vector<uint64_t>{0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(parsed.series.size(), 5U);
}

TEST(Prometheus, ScrapesAfterEachOtherAreToldApart) {
  const auto scrapes = [](std::string_view text) {
    std::vector<uint64_t> numbers;
    for (const Sample& sample : Parse(text).samples) numbers.push_back(sample.scrape);
    return numbers;
  };
  using Numbers = std::vector<uint64_t>;
  EXPECT_EQ(scrapes("a 1\nb 1\na 2\nb 2\nc 2\na 3\nc 3\n"), (Numbers{0, 0, 1, 1, 1, 2, 2}));
  EXPECT_EQ(scrapes("a 1\n# EOF\nb 1\n# EOF\n"), (Numbers{0, 1}));
  EXPECT_EQ(scrapes("a 1 1758610505947\na 2 1758610505948\n"), (Numbers{0, 0}));
  EXPECT_TRUE(Parse("a 1\n# EOF\n").is_open_metrics);
}

TEST(Prometheus, BrokenLinesAreCounted) {
  const std::string line = "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 97";
  uint64_t broken = 0;
  for (size_t size = 1; size < line.size(); ++size) {
    const Parsed parsed = Parse(line + "\n" + line.substr(0, size));
    EXPECT_EQ(parsed.records, 2U);
    broken += parsed.losses.CountOf("invalid_line");
  }
  EXPECT_EQ(broken, line.size() - 2);  // one digit less is a number still
  const Parsed long_line = Parse("a 1\nb{c=\"" + std::string(5000, 'x') + "\"} 1\nd 1\n", 64, 1024);
  EXPECT_EQ(long_line.losses.CountOf("invalid_line"), 1U);
  EXPECT_EQ(long_line.losses.all()[0].first_position, 1U);
  EXPECT_EQ(long_line.samples.back().line, 2U);
}

TEST(Prometheus, KnowsExpositions) {
  for (const char* text :
       {"DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 120\n", "vllm:num_requests_running 1\n",
        "sglang:token_usage{model_name=\"m\"} 0.5\n",
        "\n# HELP python_info x\n# TYPE python_info gauge\npython_info{a=\"b\"} 1.0\n",
        "# TYPE a counter\n", "# TYPE a counter\na_total{x=\"cut",
        "# a remark\n# TYPE a unknown\na 1"}) {
    EXPECT_TRUE(LooksLikeExposition(text)) << text;
  }
  for (const char* text :
       {"", "\n", "# What this is\n", "# HELP\n", "a 1\n", "up 1\n", "# TYPE a thing\na 1\n",
        "# TYPE a gauge\n{\"traceEvents\":[]}\n", "DCGM_FI_DEV_SM_CLOCK is a gauge\n",
        "vllm: a server\n", "nccl_bus_bandwidth_gbs{version=\"v5.1\"} 17\n",
        "# TYPE nccl_bus_bandwidth_gbs gauge\nnccl_bus_bandwidth_gbs{version=\"v5.1\"} 17\n",
        "# HELP x y\n# TYPE x gauge\nnccl_p2p_exec_time_microseconds 1\n",
        "[0] # TYPE a gauge\n"}) {
    EXPECT_FALSE(LooksLikeExposition(text)) << text;
  }
}

TEST(Prometheus, TheInspectorsOwnMetricsAreNot) {
  const std::string samples = InspectorSamples();
  if (samples.empty()) GTEST_SKIP() << "no sample data: set TELLTALE_SAMPLES";
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(samples)) {
    if (entry.path().extension() != ".prom") continue;
    ++files;
    EXPECT_FALSE(LooksLikeExposition(BytesOf(entry.path().string()))) << entry.path();
  }
  EXPECT_GT(files, 0U);
}

// Damage of every kind: it ends, counts add up, and what the store is given is whole.
TEST(Prometheus, DamageEndsAndAddsUp) {
  std::mt19937 random(20260102);
  std::string whole = "# HELP a b\n# TYPE a gauge\n";
  for (int i = 0; i < 40; ++i) {
    whole += "a{x=\"" + std::to_string(i) + "\",y=\"\\\\z\\n\"} 1.5 1758610505947\n";
  }
  constexpr std::string_view kMarks = "{}\"=,\\\n# \t\r\xff\x00 0aN"sv;
  for (int round = 0; round < 500; ++round) {
    std::string damaged = whole;
    for (size_t n = random() % 8 + 1; n > 0; --n) {
      damaged[random() % damaged.size()] = kMarks[random() % kMarks.size()];
    }
    EXPECT_GE(Parse(damaged, 1 + random() % 4096).samples.size(), 24U);
  }
}

// The sample, counted by its lines.
TEST(Prometheus, TheSampleAddsUp) {
  const std::string path = DcgmSample();
  if (path.empty()) GTEST_SKIP() << "no sample data: set TELLTALE_SAMPLES";
  const std::string bytes = BytesOf(path);
  EXPECT_TRUE(LooksLikeExposition(bytes));
  std::map<std::string, uint64_t> by_name;
  uint64_t lines = 0;
  for (const std::string& line : LinesOf(bytes)) {
    if (line.starts_with("#") || line == "\n") continue;
    ++lines;
    ++by_name[line.substr(0, line.find('{'))];
  }
  const Parsed parsed = Parse(bytes);
  EXPECT_EQ(parsed.records, lines);
  EXPECT_EQ(parsed.samples.size(), lines);
  for (const Series& series : parsed.series) {
    EXPECT_FALSE(series.type.empty()) << series.name;
    EXPECT_FALSE(series.help.empty()) << series.name;
    --by_name[series.name];
  }
  for (const auto& [name, count] : by_name) EXPECT_EQ(count, 0U) << name;
}

class PrometheusStore : public testing::Test {
 protected:
  TempFolder folder_;
  TestStore store_;
};

TEST_F(PrometheusStore, TheSampleGoesIn) {
  if (DcgmSample().empty()) GTEST_SKIP() << "no sample data: set TELLTALE_SAMPLES";
  const std::string path = folder_.Write("gb200.prom", BytesOf(DcgmSample()));
  const fs::file_time_type written =
      std::chrono::file_clock::from_sys(std::chrono::sys_seconds(std::chrono::seconds(1758610505)));
  fs::last_write_time(path, written);
  const IngestReport report = store_.Ingest({folder_.path()});
  ASSERT_EQ(report.sources.size(), 1U);
  EXPECT_EQ(report.sources[0].status, SourceStatus::kIngested) << report.sources[0].message;
  EXPECT_EQ(report.sources[0].format, "prometheus");
  EXPECT_EQ(report.sources[0].records, report.sources[0].rows);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM metric_sample JOIN metric_series USING (series)"),
            static_cast<int64_t>(report.sources[0].rows));
  EXPECT_EQ(
      store_.Rows(
          "SELECT type, help, host, gpu, uuid, pci_bus_id, labels->>'modelName', time_ns, value,"
          " line FROM metric_sample JOIN metric_series USING (series)"
          " WHERE name = 'DCGM_FI_DEV_SM_CLOCK' ORDER BY gpu LIMIT 1"),
      (Strings{"gauge|SM clock frequency (in MHz).|lyris0073.lyris.clusters.nvidia.com|0|"
               "GPU-c8edd83a-7dc2-4667-5639-a30a879048ae|0008:06:00.0|NVIDIA GB200|"
               "1758610505000000000|120|2"}));
  EXPECT_EQ(store_.Lost("file_time"), static_cast<int64_t>(report.sources[0].rows));
}

TEST_F(PrometheusStore, OnlyTheLastScrapeIsAsOldAsTheFile) {
  const std::string text =
      "# TYPE a gauge\na{host=\"n\\xff\xff\"} 1\nb NaN "
      "1758610505947\nbroken\na{host=\"n\\xff\xff\"} 2\n";
  const std::string path = folder_.Write("metrics.txt", text);
  fs::last_write_time(path, std::chrono::file_clock::from_sys(
                                std::chrono::sys_seconds(std::chrono::seconds(1758610505))));
  const IngestReport report = store_.Ingest({folder_.path()});
  EXPECT_EQ(report.sources.at(0).records, 4U);
  EXPECT_EQ(report.sources.at(0).rows, 3U);
  EXPECT_EQ(store_.Rows("SELECT name, host, time_ns, value, line FROM metric_sample"
                        " JOIN metric_series USING (series) ORDER BY line"),
            (Strings{"a|n\\xff\\xff|-|1|1", "b|-|1758610505947000000|nan|2",
                     "a|n\\xff\\xff|1758610505000000000|2|4"}));
  EXPECT_EQ(store_.Rows("SELECT class, kind, count FROM ingest_loss ORDER BY kind"),
            (Strings{"note|file_time|1", "line|invalid_line|1", "note|unknown_time|1"}));
  folder_.Write("metrics.txt", text + "c 1\n");
  (void)store_.Ingest({folder_.path()});
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM source"), 1);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM metric_sample"), 4);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM metric_series"), 3);
}

TEST_F(PrometheusStore, TheInspectorsMetricsAreNamedAndLeft) {
  folder_.Write("metrics.prom", "nccl_bus_bandwidth_gbs{version=\"v5.1\"} 17\n");
  const IngestReport report = store_.Ingest({folder_.path()});
  EXPECT_EQ(report.sources.at(0).status, SourceStatus::kNotRecognised);
  EXPECT_NE(report.sources.at(0).message.find("Prometheus text metrics"), std::string::npos);
}

}  // namespace
}  // namespace telltale::test
