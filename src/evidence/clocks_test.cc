// Clocks of a run from Kineto traces in a store.

#include "evidence/clocks.h"

#include <map>

#include <gtest/gtest.h>

#include "evidence/clock_hosts.h"
#include "tests/support/clock_job.h"
#include "tests/support/inspector_support.h"

namespace telltale::evidence {
namespace {

using Strings = std::vector<std::string>;

struct Kernel {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string collective = "allreduce";
  int64_t sequence = -1;  // below 0: not written
  int64_t elements = 1024;
  std::string ranks = "[0, 1]";
};

std::string Micros(int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

std::string Trace(const std::vector<Kernel>& kernels) {
  std::string events;
  for (const Kernel& kernel : kernels) {
    events += events.empty() ? "" : ",\n";
    events += fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel","pid":0,"tid":20,"ts":{},"dur":{},)"
        R"("args":{{"device":0,"stream":20,"Collective name":"{}","In msg nelems":{},)"
        R"("Out msg nelems":{},"Group size":2,"Process Group Name":"0",)"
        R"("Process Group Ranks":"{}"{}}}}})",
        Micros(kernel.start_ns), Micros(kernel.end_ns - kernel.start_ns), kernel.collective,
        kernel.elements, kernel.elements, kernel.ranks,
        kernel.sequence < 0 ? "" : fmt::format(R"(,"Seq":{})", kernel.sequence));
  }
  return R"({"displayTimeUnit":"ns","traceEvents":[)" + events + "]}";
}

class Clocks : public testing::Test {
 protected:
  void Write(const std::string& name, const std::vector<Kernel>& kernels) {
    folder_.Write(name, Trace(kernels));
  }
  RunClockEvidence Load() {
    store_.Ingest({folder_.path()}, "job");
    const auto connection = store_.store().Connect();
    auto loaded = LoadClockEvidence(**connection, "job");
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded ? std::move(*loaded) : RunClockEvidence();
  }

  test::TempFolder folder_;
  test::TestStore store_;
};

TEST_F(Clocks, OfAJobWhoseTracesAreInTheStore) {
  test::ClockJobOptions options;
  options.hosts = 3;
  options.ranks_per_host = 1;
  options.operations = 300;
  options.lost_part = 0.02;
  const test::ClockJob job(options, 7);
  std::map<uint32_t, std::vector<Kernel>> kernels;
  for (const ClockSighting& sighting : job.evidence().sightings) {
    Kernel kernel{sighting.start_ns, sighting.end_ns};
    kernel.sequence = static_cast<int64_t>(sighting.operation);
    kernels[sighting.host].push_back(kernel);
  }
  for (const auto& [host, of_host] : kernels) {
    Write(fmt::format("node{}_{}.1700000000.pt.trace.json", host, 100 + host), of_host);
  }
  store_.Ingest({folder_.path()}, "job");
  const auto connection = store_.store().Connect();
  const auto clocks = HostClocks(**connection, "job");
  ASSERT_TRUE(clocks) << clocks.error().message;
  ASSERT_EQ(clocks->size(), 3U);
  const std::string& reference_name = clocks->front().reference_host;
  const auto reference = static_cast<uint32_t>(reference_name.back() - '0');
  for (uint32_t host = 0; host < 3; ++host) {
    const HostClock& clock = (*clocks)[host];
    EXPECT_EQ(clock.host, fmt::format("node{}", host));
    EXPECT_EQ(clock.reference_host, reference_name);
    EXPECT_EQ(clock.contradictions, 0U);
    const int64_t time = job.TimeAt(reference, 0.4);
    const auto bound = OffsetAt(clock, time);
    ASSERT_TRUE(bound);
    const long double truth = job.Offset(host, reference, time);
    EXPECT_LE(static_cast<long double>(bound->lower_ns), truth + 1e-3L);
    EXPECT_GE(static_cast<long double>(bound->upper_ns), truth - 1e-3L);
    EXPECT_LT(bound->upper_ns - bound->lower_ns, 3 * job.mean_transfer_ns());
  }
}

TEST_F(Clocks, OnlyWhatIsCertainIsUsed) {
  const std::vector<Kernel> first = {{1'000, 2'000, "allreduce", 1},
                                     {3'000, 4'000, "broadcast", 2},
                                     {5'000, 6'000, "all_to_all", 3},
                                     {7'000, 8'000, "allreduce", 4, 0},
                                     {9'000, 9'500, "allreduce", 5},
                                     {9'600, 9'900, "allreduce", 5},
                                     {10'000, 11'000, "reduce_scatter", 6, 64, "[0, 2]"}};
  std::vector<Kernel> second = first;
  second.pop_back();
  Write("a_1.2.pt.trace.json", first);
  Write("b_1.2.pt.trace.json", second);
  const RunClockEvidence loaded = Load();
  EXPECT_EQ(loaded.evidence.hosts, (Strings{"a", "b"}));
  EXPECT_EQ(loaded.counts.used, 6U);
  EXPECT_EQ(loaded.counts.not_joint, 4U);
  EXPECT_EQ(loaded.counts.empty, 2U);
  EXPECT_EQ(loaded.counts.seen_once, 1U);
  ASSERT_EQ(loaded.evidence.sightings.size(), 4U);
  // Two kernels of one number are one sighting from the first to the last.
  EXPECT_EQ(loaded.evidence.sightings[2].start_ns, 9'000);
  EXPECT_EQ(loaded.evidence.sightings[2].end_ns, 9'900);
  EXPECT_EQ(loaded.evidence.sightings[2].operation, loaded.evidence.sightings[3].operation);
}

TEST_F(Clocks, OrderStandsInForNumbersWhereCountsAreEqual) {
  Write("a_1.2.pt.trace.json",
        {{1'000, 2'000}, {3'000, 4'000}, {5'000, 6'000, "allgather"}, {7'000, 8'000, "allgather"}});
  Write("b_1.2.pt.trace.json", {{1'500, 2'100}, {3'500, 4'100}, {7'500, 8'100, "allgather"}});
  const RunClockEvidence loaded = Load();
  EXPECT_EQ(loaded.counts.used, 4U);
  EXPECT_EQ(loaded.counts.uneven, 3U);
  ASSERT_EQ(loaded.evidence.sightings.size(), 4U);
  EXPECT_EQ(loaded.evidence.sightings[1].start_ns, 1'500);
  EXPECT_EQ(loaded.evidence.sightings[0].operation, loaded.evidence.sightings[1].operation);
  EXPECT_NE(loaded.evidence.sightings[1].operation, loaded.evidence.sightings[2].operation);
}

TEST_F(Clocks, AnUnknownRunIsAnError) {
  const auto connection = store_.store().Connect();
  const auto clocks = HostClocks(**connection, "job' OR 1=1");
  ASSERT_FALSE(clocks);
  EXPECT_NE(clocks.error().message.find("no run"), std::string::npos);
}

TEST(JointCollectives, AreThoseThatNobodyLeavesEarly) {
  for (const char* name : {"allreduce", "all_reduce", "_allgather_base", "reduce_scatter_tensor",
                           "nccl:_reduce_scatter_base", "ncclAllReduce", "ReduceScatter", "barrier",
                           "allgather_into_tensor_coalesced"}) {
    EXPECT_TRUE(IsJointCollective(name)) << name;
  }
  for (const char* name : {"broadcast", "reduce", "send", "recv", "gather", "scatter", "all_to_all",
                           "all_to_allv", "allgatherv", "wait", "", "nccl:"}) {
    EXPECT_FALSE(IsJointCollective(name)) << name;
  }
}

TEST(ClockHosts, AreInNamesOfTraces) {
  EXPECT_EQ(HostOfTraceName("gpu-node_77.1700000000.pt.trace.json"), "gpu-node");
  EXPECT_EQ(HostOfTraceName("gpu_node.example.com_77.1700000000.pt.trace.json.gz"),
            "gpu_node.example.com");
  EXPECT_EQ(HostOfTraceName("node_77.pt.trace.json.zst"), "node");
  for (const char* name :
       {"rank0.1700000000.pt.trace.json", "node_77.json", "_77.pt.trace.json",
        "node_.1.pt.trace.json", "node_7x.pt.trace.json", "", ".pt.trace.json"}) {
    EXPECT_EQ(HostOfTraceName(name), "") << name;
  }
}

TEST(ClockHosts, AreFoldersWhereNothingElseTells) {
  const auto hosts = [](const std::vector<SourceName>& sources) { return HostsOfSources(sources); };
  EXPECT_EQ(hosts({{"said", "/x/a_1.2.pt.trace.json"}, {"", "/y/b_1.2.pt.trace.json"}}),
            (Strings{"said", "b"}));
  EXPECT_EQ(
      hosts(
          {{"", "/job/n0/out/r0.json"}, {"", "/job/n1/out/r1.json"}, {"", "/job/n1/out/r2.json"}}),
      (Strings{"n0/out", "n1/out", "n1/out"}));
  // One folder for all says nothing: each is its own host.
  EXPECT_EQ(hosts({{"", "/job/r0.json"}, {"", "/job/r1.json"}}),
            (Strings{"/job/r0.json", "/job/r1.json"}));
  EXPECT_EQ(hosts({{"", "/job/r0.json"}, {"", "/job/n1/r1.json"}}),
            (Strings{"/job/r0.json", "n1"}));
  EXPECT_EQ(hosts({{"", ""}, {"", "x"}}), (Strings{"", "x"}));
  EXPECT_TRUE(hosts({}).empty());
}

}  // namespace
}  // namespace telltale::evidence
