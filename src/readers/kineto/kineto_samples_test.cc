// Real Kineto traces: rows and losses add up to what the file holds, numbers are those of the file,
// and the call chain is that of its definition.

#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "readers/kineto/micro_time.h"
#include "readers/kineto/parallel_parser.h"
#include "readers/kineto/trace_builder.h"
#include "tests/support/inspector_support.h"
#include "tests/support/json_value.h"
#include "tests/support/trace_support.h"

namespace telltale::test {
namespace {

// What the file says, read by a reader that shares no code with ours.
struct Counted {
  uint64_t events = 0;  // all elements of traceEvents
  std::map<std::string, uint64_t> by_category;
  std::map<std::string, std::pair<uint64_t, int64_t>> kernels;    // calls, duration
  std::map<std::string, std::pair<uint64_t, int64_t>> operators;  // the same
};

Counted CountFile(const std::string& path) {
  Counted counted;
  const auto json = ParseJson(BytesOf(path));
  EXPECT_TRUE(json) << path;
  if (!json) return counted;
  const JsonValue* events = json->Find("traceEvents");
  for (const JsonValue& event : events->items) {
    ++counted.events;
    const JsonValue* category = event.Find("cat");
    const std::string phase = event["ph"];
    if (phase != "X" && phase != "i") continue;
    const std::string kind = category != nullptr ? category->text : "";
    ++counted.by_category[kind];
    if (phase != "X") continue;
    const int64_t duration_ns = *kineto::NanosecondsOf(event["dur"]);
    if (kind == "kernel" || kind == "Kernel") {
      auto& [calls, sum_ns] = counted.kernels[event["name"]];
      ++calls;
      sum_ns += duration_ns;
    }
    if (kind == "cpu_op") {
      auto& [calls, sum_ns] = counted.operators[event["name"]];
      ++calls;
      sum_ns += duration_ns;
    }
  }
  return counted;
}

class KinetoSamples : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (TraceSamples().empty()) GTEST_SKIP() << "no sample data: set TELLTALE_SAMPLES";
    path_ = TraceSamples() + "/" + GetParam();
    ASSERT_TRUE(std::filesystem::exists(path_));
  }
  std::string path_;
};

TEST_P(KinetoSamples, RowsAndLossesAreTheFile) {
  const Counted counted = CountFile(path_);
  TestStore store;
  const IngestReport report = store.Ingest({path_});
  ASSERT_EQ(report.sources.size(), 1U);
  const SourceReport& source = report.sources[0];
  EXPECT_EQ(source.status, SourceStatus::kIngested) << source.message;
  EXPECT_EQ(source.format, "kineto");
  EXPECT_EQ(source.records, counted.events);
  EXPECT_EQ(source.records - source.rows, LineLossesOf(source));
  uint64_t timed = 0;
  for (const auto& [category, count] : counted.by_category) timed += count;
  const int64_t duplicates = store.Lost("duplicate_event");
  EXPECT_EQ(store.Integer("SELECT count(*) FROM event"), static_cast<int64_t>(timed) - duplicates);
  EXPECT_EQ(static_cast<int64_t>(source.records - source.rows), duplicates);
  EXPECT_EQ(store.Integer("SELECT count(DISTINCT position) FROM event"),
            store.Integer("SELECT count(*) FROM event"));
}

TEST_P(KinetoSamples, TimesAreThoseOfTheFile) {
  const Counted counted = CountFile(path_);
  TestStore store;
  store.Ingest({path_});
  if (store.Lost("duplicate_event") > 0) GTEST_SKIP() << "holds events twice";
  const auto rows_of = [](const auto& sums) {
    std::vector<std::string> rows;
    for (const auto& [name, sum] : sums) {
      rows.push_back(fmt::format("{}|{}|{}", name, sum.first, sum.second));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  const auto stored = [&](const std::string& where) {
    auto rows = store.Rows("SELECT name, count(*), sum(duration_ns)::BIGINT FROM events WHERE " +
                           where + " GROUP BY name");
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  EXPECT_EQ(stored("kind = 'kernel'"), rows_of(counted.kernels));
  EXPECT_EQ(stored("kind = 'operator' OR (kind = 'communication' AND name = 'record_param_comms')"),
            rows_of(counted.operators));
}

kineto::BuiltTrace Read(const std::string& path, size_t window_bytes, unsigned threads) {
  const std::string bytes = BytesOf(path);
  const auto stream = MemoryStream(bytes);
  kineto::TraceSplitter splitter(*stream, window_bytes);
  auto parts = kineto::ParseEvents(splitter, threads, [] {});
  EXPECT_TRUE(parts);
  return kineto::BuildTrace(std::move(*parts), splitter.Members(), path);
}

TEST_P(KinetoSamples, TheCallChainIsThePlainOne) {
  const kineto::BuiltTrace built = Read(path_, 1 << 20, 1);
  const trace::TraceData& data = built.data;
  const trace::CallChain chain = trace::LinkCallChain(data, built.tolerance_ns);
  const std::vector<uint32_t> plain = PlainNesting(data, chain.order, built.tolerance_ns);
  EXPECT_LE(built.tolerance_ns, 1000);
  for (uint32_t i = 0; i < data.events.size(); ++i) {
    if (data.tracks[data.events[i].track].kind == trace::TrackKind::kStream) continue;
    ASSERT_EQ(chain.parent[i], plain[i]) << i;
    if (chain.parent[i] == trace::kNoEvent) continue;
    const trace::Event& parent = data.events[chain.parent[i]];
    EXPECT_LE(parent.start_ns, data.events[i].start_ns);
    EXPECT_GE(parent.start_ns + parent.duration_ns + built.tolerance_ns,
              data.events[i].start_ns + std::max<int64_t>(data.events[i].duration_ns, 0));
  }
}

TEST_P(KinetoSamples, WindowsAndThreadsDoNotMatter) {
  const auto text_of = [&](size_t window_bytes, unsigned threads) {
    const kineto::BuiltTrace built = Read(path_, window_bytes, threads);
    const trace::TraceData& data = built.data;
    const trace::CallChain chain = trace::LinkCallChain(data, built.tolerance_ns);
    std::vector<std::string> rows;
    for (uint32_t i = 0; i < data.events.size(); ++i) {
      const trace::Event& event = data.events[i];
      const uint32_t parent = chain.parent[i];
      const trace::Track& track = data.tracks[event.track];
      rows.push_back(fmt::format(
          "{}|{}|{}|{}|{}|{}|{}|{}", event.position, event.start_ns, event.duration_ns,
          data.names[event.name], EventKindName(event.kind), track.id, event.correlation,
          parent == trace::kNoEvent ? "-" : fmt::format("{}", data.events[parent].position)));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  const auto whole = text_of(64 << 20, 1);
  EXPECT_EQ(text_of(10'000, 1), whole);
  EXPECT_EQ(text_of(30'000, 3), whole);
}

INSTANTIATE_TEST_SUITE_P(
    , KinetoSamples,
    testing::Values("kineto_2022_old_categories_rank1.json.gz", "kineto_a100_cuda_sync.json.gz",
                    "kineto_a100_ddp_rank0of2_nccl_args.json.gz",
                    "kineto_a100_rank0of128_intts.json.gz", "kineto_a100_rank1of128_intts.json.gz",
                    "kineto_a100_triton_cuda_driver.json.gz",
                    "kineto_b200_vllm_tp8_rank0_eager.json.gz",
                    "kineto_gloo_cpu_only_rank34of300.json.gz", "kineto_h100_qwen05b.json.gz",
                    "kineto_mi300_sglang_decode.json.gz",
                    "kineto_mi300_vllm_decode_fullgraph.json.gz"),
    [](const auto& sample) {
      std::string name = sample.param.substr(0, sample.param.find('.'));
      return name;
    });

}  // namespace
}  // namespace telltale::test
