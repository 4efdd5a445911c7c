#include "readers/trace/call_chain.h"

#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/support/trace_support.h"

namespace telltale::trace {
namespace {

TraceData OneThread() {
  TraceData data;
  data.processes.resize(1);
  data.tracks.push_back({});
  data.names = {"event"};
  return data;
}

uint32_t Add(TraceData& data, int64_t start_ns, int64_t duration_ns, uint32_t track = 0,
             EventKind kind = EventKind::kOperator, uint64_t correlation = kNoCorrelation) {
  Event event;
  event.start_ns = start_ns;
  event.duration_ns = duration_ns;
  event.track = track;
  event.kind = kind;
  event.correlation = correlation;
  event.position = static_cast<uint32_t>(data.events.size());
  data.events.push_back(event);
  return static_cast<uint32_t>(data.events.size() - 1);
}

TEST(CallChain, NestsByTime) {
  TraceData data = OneThread();
  const uint32_t late_child = Add(data, 60, 10);  // stands first in the file
  const uint32_t outer = Add(data, 0, 100);
  const uint32_t child = Add(data, 0, 50);
  const uint32_t grandchild = Add(data, 10, 5);
  const uint32_t sibling = Add(data, 100, 20);  // begins when outer ends, and goes on
  const CallChain chain = LinkCallChain(data, 0);
  EXPECT_EQ(chain.parent[outer], kNoEvent);
  EXPECT_EQ(chain.parent[child], outer);
  EXPECT_EQ(chain.parent[grandchild], child);
  EXPECT_EQ(chain.parent[late_child], outer);
  EXPECT_EQ(chain.parent[sibling], kNoEvent);
  EXPECT_EQ(chain.basis[child], ParentBasis::kNesting);
}

TEST(CallChain, OverlapIsNoNesting) {
  TraceData data = OneThread();
  const uint32_t outer = Add(data, 0, 100);
  const uint32_t left = Add(data, 10, 30);
  const uint32_t right = Add(data, 20, 60);  // ends behind `left`
  const uint32_t inside_both = Add(data, 25, 5);
  const uint32_t behind_left = Add(data, 45, 5);
  const CallChain chain = LinkCallChain(data, 0);
  EXPECT_EQ(chain.parent[left], outer);
  EXPECT_EQ(chain.parent[right], outer);
  EXPECT_EQ(chain.parent[inside_both], right);
  EXPECT_EQ(chain.parent[behind_left], right);
}

TEST(CallChain, ToleratesRounding) {
  TraceData data = OneThread();
  const uint32_t outer = Add(data, 0, 1000);
  const uint32_t child = Add(data, 500, 501);
  EXPECT_EQ(LinkCallChain(data, 0).parent[child], kNoEvent);
  EXPECT_EQ(LinkCallChain(data, 1).parent[child], outer);
}

TEST(CallChain, GpuWorkBelongsToTheCallOfItsProcess) {
  TraceData data;
  data.processes.resize(2);
  data.names = {"event"};
  for (uint32_t process = 0; process < 2; ++process) {
    data.tracks.push_back({process, TrackKind::kThread, -1, -1, 1, ""});
    data.tracks.push_back({process, TrackKind::kStream, 0, -1, 7, ""});
  }
  const uint32_t call_0 = Add(data, 0, 5, 0, EventKind::kRuntime, 17);
  const uint32_t call_1 = Add(data, 0, 5, 2, EventKind::kRuntime, 17);
  const uint32_t kernel_0 = Add(data, 9, 5, 1, EventKind::kKernel, 17);
  const uint32_t kernel_1 = Add(data, 9, 5, 3, EventKind::kKernel, 17);
  const uint32_t of_graph = Add(data, 20, 5, 1, EventKind::kKernel, 17);
  const uint32_t orphan = Add(data, 30, 5, 1, EventKind::kKernel, 18);
  const uint32_t without_id = Add(data, 40, 5, 1, EventKind::kMemcpy);
  const CallChain chain = LinkCallChain(data, 0);
  EXPECT_EQ(chain.parent[kernel_0], call_0);
  EXPECT_EQ(chain.parent[kernel_1], call_1);
  EXPECT_EQ(chain.parent[of_graph], call_0);
  EXPECT_EQ(chain.parent[orphan], kNoEvent);
  EXPECT_EQ(chain.parent[without_id], kNoEvent);
  EXPECT_EQ(chain.gpu_without_launch, 1U);
  EXPECT_EQ(chain.gpu_without_correlation, 1U);
}

TEST(CallChain, UnfinishedAndMovingRangesAreNobodysParent) {
  TraceData data = OneThread();
  const uint32_t unfinished = Add(data, 0, kUnfinished);
  const uint32_t moving = Add(data, 0, 100);
  data.events[moving].nests = false;
  const uint32_t event = Add(data, 10, 5);
  const CallChain chain = LinkCallChain(data, 0);
  EXPECT_EQ(chain.parent[event], kNoEvent);
  EXPECT_EQ(chain.parent[unfinished], kNoEvent);
}

// Any intervals: the sweep finds what a look at all events in front finds.
TEST(CallChain, IsThePlainDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    TraceData data = OneThread();
    data.tracks.push_back({0, TrackKind::kThread, -1, -1, 2, ""});
    const int64_t span = round % 3 == 0 ? 12 : 1000;
    const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % limit); };
    for (int i = 0; i < 60; ++i) {
      const bool unfinished = below(20) == 0;
      Add(data, below(span), unfinished ? kUnfinished : below(span / 2),
          static_cast<uint32_t>(below(2)));
      data.events.back().nests = below(10) != 0;
    }
    const int64_t tolerance_ns = below(3);
    const CallChain chain = LinkCallChain(data, tolerance_ns);
    EXPECT_EQ(chain.parent, test::PlainNesting(data, chain.order, tolerance_ns));
  }
}

// Several threads read parts of the source at once; so the events come in pieces, as here.
TEST(CallChain, ThreadsDoNotMatter) {
  std::mt19937 random(11);
  constexpr uint32_t kEvents = 300'000;
  for (const uint32_t tracks : {1U, 9U, 3'000U}) {
    TraceData data = OneThread();
    while (data.tracks.size() < tracks) {
      const bool is_stream = data.tracks.size() % 3 == 2;
      data.tracks.push_back({0, is_stream ? TrackKind::kStream : TrackKind::kThread, -1, -1,
                             static_cast<int64_t>(data.tracks.size()), ""});
    }
    // Every third window of 100 events to one of three pieces.
    for (uint32_t piece = 0; piece < 3; ++piece) {
      for (uint32_t position = 0; position < kEvents; ++position) {
        if (position / 100 % 3 != piece) continue;
        const auto track = static_cast<uint32_t>(random() % tracks);
        const bool is_stream = data.tracks[track].kind == TrackKind::kStream;
        Add(data, position * 10 + static_cast<int64_t>(random() % 2000),
            static_cast<int64_t>(random() % 500), track,
            is_stream ? EventKind::kKernel : EventKind::kRuntime, random() % 100'000);
        data.events.back().position = position;
      }
    }
    const CallChain one = LinkCallChain(data, 1, 1);
    ASSERT_EQ(one.order.size(), kEvents);
    for (size_t i = 1; i < one.order.size(); ++i) {
      const Event& before = data.events[one.order[i - 1]];
      const Event& event = data.events[one.order[i]];
      ASSERT_LE(std::tie(before.track, before.start_ns), std::tie(event.track, event.start_ns));
    }
    for (const unsigned threads : {2U, 5U}) {
      const CallChain several = LinkCallChain(data, 1, threads);
      EXPECT_EQ(several.order, one.order);
      EXPECT_EQ(several.parent, one.parent);
      EXPECT_EQ(several.basis, one.basis);
      EXPECT_EQ(several.gpu_without_launch, one.gpu_without_launch);
      EXPECT_EQ(several.repeated_correlations, one.repeated_correlations);
    }
  }
}

// As deep as can be, and as wide: neither the stack nor the time may run out.
TEST(CallChain, HoldsWhatIsHostile) {
  constexpr int64_t kEvents = 100'000;
  TraceData deep = OneThread();
  for (int64_t i = 0; i < kEvents; ++i) Add(deep, i, 2 * (kEvents - i));
  EXPECT_EQ(LinkCallChain(deep, 0).parent.back(), kEvents - 2);
  TraceData staggered = OneThread();
  for (int64_t i = 0; i < kEvents; ++i) Add(staggered, i, kEvents);
  EXPECT_EQ(LinkCallChain(staggered, 0).parent.back(), kNoEvent);
  TraceData calls = OneThread();  // each ends within the tolerance of the next one's start
  const uint32_t outer = Add(calls, 0, 3 * kEvents);
  for (int64_t i = 0; i < kEvents; ++i) Add(calls, 2 * i + 1, 1);
  EXPECT_EQ(LinkCallChain(calls, 1).parent.back(), outer);
  TraceData next = OneThread();  // the tolerance is not for who begins at an end
  Add(next, 0, 10);
  Add(next, 10, 1);
  Add(next, 10, 0);
  EXPECT_EQ(LinkCallChain(next, 5).parent[1], kNoEvent);
  EXPECT_EQ(LinkCallChain(next, 5).parent[2], 1U);
  TraceData late = OneThread();
  Add(late, INT64_MAX - 10, 10);
  Add(late, INT64_MAX - 5, 5);
  EXPECT_EQ(LinkCallChain(late, 1000).parent[1], 0U);
}

}  // namespace
}  // namespace telltale::trace
