#include "tests/support/random_trees.h"

#include <array>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <zstd.h>

namespace telltale::test {
namespace {

using tokens::CallTrees;
using tokens::EventKind;
using tokens::kNone;
using tokens::ParentBasis;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

class TreeMaker {
 public:
  explicit TreeMaker(uint64_t seed) : random_(seed) {
    MakeNames();
    MakeTracks();
    is_extreme_ = Chance(0.3);
    for (size_t i = 0; i < 4; ++i) layers_.push_back(RandomLayer(2 + Below(12)));
  }

  CallTrees Make(size_t steps) {
    for (size_t step = 0; step < steps; ++step) {
      AddStep();
      trees_.first.push_back(trees_.parent.size());
      trees_.number.push_back(is_extreme_ ? random_() : step);
    }
    return std::move(trees_);
  }

 private:
  // An event as it comes again and again.
  struct Event {
    uint32_t parent = kNone;  // of the layer; kNone: on top
    uint32_t name = 0;
    EventKind kind = EventKind::kOther;
    ParentBasis basis = ParentBasis::kNone;
    uint32_t track = kNone;
    uint32_t communicator = kNone;
    int64_t duration_ns = 0;
  };

  uint32_t Below(size_t count) {
    return std::uniform_int_distribution<uint32_t>(0, static_cast<uint32_t>(count - 1))(random_);
  }
  bool Chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

  void MakeNames() {
    trees_.names = {"",
                    "\xff",
                    "\xfe\x80 cut \xe2\x82",
                    "aten::mm",
                    "aten::mm",
                    std::string("with\0zero", 9),
                    "\"quoted\"\n\\",
                    "(((",
                    "void f<4, g<int> >(int*)",
                    "_ZN1a1bILi4EEEvPT_"};
    for (size_t i = Below(20); i > 0; --i) trees_.names.push_back(fmt::format("op{}", Below(50)));
    for (size_t i = Below(30); i > 0; --i) trees_.names.push_back(fmt::format("layer_{}", i));
    if (Chance(0.1)) {
      std::string without_end(600, 'x');
      for (size_t i = 0; i < 300; ++i) without_end += "\xe2\x82\xac";
      trees_.names.push_back(without_end);
    }
  }

  void MakeTracks() {
    for (size_t i = Below(4); i > 0; --i) {
      trees_.tracks.push_back({fmt::format("thread {}", Below(3)), false});
    }
    for (size_t i = Below(4); i > 0; --i) {
      trees_.tracks.push_back({fmt::format("GPU 0 stream {}\xff", Below(3)), true});
    }
    for (size_t i = Below(3); i > 0; --i) trees_.communicators.push_back(fmt::format("0x{}", i));
    most_tracks_ = Chance(0.5) ? std::min<size_t>(1, trees_.tracks.size()) : trees_.tracks.size();
  }

  Event RandomEvent() {
    Event event;
    event.name = Below(trees_.names.size());
    event.kind = static_cast<EventKind>(Below(trace::kEventKinds));
    event.basis = static_cast<ParentBasis>(Below(4));
    if (most_tracks_ > 0 && !Chance(0.05)) event.track = Below(most_tracks_);
    if (!trees_.communicators.empty() && Chance(0.2)) {
      event.communicator = Below(trees_.communicators.size());
    }
    event.duration_ns = Chance(0.1) ? -1 : static_cast<int64_t>(Below(1'000'000));
    return event;
  }

  // Each behind the last one, below it or below one of what is above it.
  std::vector<Event> RandomLayer(size_t events) {
    const double deeper = std::array<double, 4>{0.1, 0.5, 0.9, 1.0}[Below(4)];
    std::vector<Event> layer;
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < events; ++i) {
      while (!open.empty() && !Chance(deeper)) open.pop_back();
      Event event = RandomEvent();
      event.parent = open.empty() ? kNone : open.back();
      layer.push_back(event);
      open.push_back(i);
    }
    return layer;
  }

  int64_t RandomValue() {
    constexpr std::array<int64_t, 7> kEdges = {kLeast, kLeast + 1, -1, 0, 1, kMost - 1, kMost};
    return Chance(0.5) ? kEdges[Below(kEdges.size())] : static_cast<int64_t>(random_());
  }

  void AddNode(const Event& event, uint32_t parent) {
    trees_.parent.push_back(parent);
    trees_.name.push_back(event.name);
    trees_.track.push_back(event.track);
    trees_.communicator.push_back(event.communicator);
    trees_.kind.push_back(event.kind);
    trees_.basis.push_back(event.basis);
    if (is_extreme_ && Chance(0.3)) {
      trees_.event.push_back(RandomValue());
      trees_.start_ns.push_back(RandomValue());
      trees_.duration_ns.push_back(RandomValue());
      trees_.correlation.push_back(RandomValue());
      return;
    }
    now_ns_ += Below(5'000);
    trees_.event.push_back(next_event_ += 1 + (Chance(0.1) ? Below(3) : 0));
    trees_.start_ns.push_back(now_ns_);
    trees_.duration_ns.push_back(event.duration_ns);
    trees_.correlation.push_back(Chance(0.5) ? -1 : next_event_ / 3);
  }

  void AddLayer(const std::vector<Event>& layer, uint32_t parent, uint32_t name_step) {
    const auto first = static_cast<uint32_t>(trees_.parent.size() - trees_.first.back());
    for (Event event : layer) {
      event.name = static_cast<uint32_t>((event.name + name_step) % trees_.names.size());
      AddNode(event, event.parent == kNone ? parent : first + event.parent);
    }
  }

  void AddStep() {
    AddNode(RandomEvent(), kNone);
    switch (Below(6)) {
      case 0:
        return;
      case 1:  // wide
        for (size_t i = Below(50); i > 0; --i) AddNode(RandomEvent(), 0);
        return;
      case 2:  // deep
        for (uint32_t i = 0, depth = Below(50); i < depth; ++i) AddNode(RandomEvent(), i);
        return;
      case 3:
        return AddLayer(RandomLayer(1 + Below(50)), 0, 0);
      default:
        break;
    }
    // Layers that come again, most of them as they are.
    for (size_t i = 1 + Below(8); i > 0; --i) {
      std::vector<Event> layer = layers_[Below(layers_.size())];
      if (Chance(0.2)) {
        Event& changed = layer[Below(layer.size())];
        const uint32_t parent = changed.parent;
        changed = RandomEvent();
        changed.parent = parent;
      }
      for (uint32_t times = Chance(0.5) ? 1 : 1 + Below(6); times > 0; --times) {
        AddLayer(layer, 0, Chance(0.1) ? times : 0);
      }
    }
  }

  std::mt19937_64 random_;
  bool is_extreme_ = false;
  size_t most_tracks_ = 0;
  std::vector<std::vector<Event>> layers_;
  int64_t now_ns_ = 1'700'000'000'000'000'000;
  int64_t next_event_ = 0;
  CallTrees trees_;
};

}  // namespace

CallTrees RandomTrees(uint64_t seed, size_t steps) { return TreeMaker(seed).Make(steps); }

std::string StepFileContent(const std::string& file) {
  const unsigned long long size = ZSTD_getFrameContentSize(file.data(), file.size());
  EXPECT_LT(size, uint64_t{1} << 30);
  std::string content(size, '\0');
  EXPECT_EQ(ZSTD_decompress(content.data(), content.size(), file.data(), file.size()), size);
  return content;
}

std::string LostByRoundTrip(const tokens::Codec& codec, const CallTrees& trees) {
  const auto file = EncodedFile(EncodeSteps(codec, trees, 1));
  if (!file) return file.error().message;
  const auto steps = tokens::ParseEncoded(StepFileContent(*file));
  if (!steps) return steps.error().message;
  const auto decoded = DecodeSteps(codec, *steps);
  return decoded ? DifferenceOf(trees, *decoded) : decoded.error().message;
}

}  // namespace telltale::test
