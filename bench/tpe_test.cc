#include "bench/tpe.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace telltale::bench {
namespace {

using tokens::CallTrees;
using tokens::kNone;
using trace::EventKind;
using Sequence = std::vector<uint32_t>;

class Trees {
 public:
  // A node of the step being written; `parent` counts from the step's first node.
  Trees& Node(uint32_t parent, EventKind kind, const std::string& name, int64_t duration_ns = 1) {
    const auto [found, is_new] =
        numbers_.try_emplace(name, static_cast<uint32_t>(trees_.names.size()));
    if (is_new) trees_.names.push_back(name);
    trees_.parent.push_back(parent);
    trees_.name.push_back(found->second);
    trees_.kind.push_back(kind);
    trees_.event.push_back(static_cast<int64_t>(trees_.event.size()));
    trees_.duration_ns.push_back(duration_ns);
    return *this;
  }
  Trees& EndStep() {
    trees_.first.push_back(trees_.parent.size());
    return *this;
  }
  Trees& Unattached() {  // the node that holds what is not attached
    Node(kNone, EventKind::kOther, "not attached", 0).trees_.event.back() = -1;
    return *this;
  }
  const CallTrees& Get() const { return trees_; }

 private:
  CallTrees trees_;
  std::map<std::string, uint32_t> numbers_;
};

std::vector<size_t> AllSteps(const CallTrees& trees) {
  std::vector<size_t> steps(trees.Steps());
  std::iota(steps.begin(), steps.end(), 0);
  return steps;
}

TpeVocabulary Train(const CallTrees& trees, size_t merges) {
  const size_t names = TrainTpe(trees, AllSteps(trees), 0).names.size();
  return TrainTpe(trees, AllSteps(trees), kTpeSpecials + names + merges);
}

// The symbols that a token stands for, as text.
std::string TextOf(const TpeVocabulary& vocabulary, uint32_t token) {
  constexpr const char* kSpecials[] = {"PAD", "UNKNOWN", "STEP", "FE", "BE", "RT", "K", "DRIVER"};
  if (token < kTpeSpecials) return kSpecials[token];
  if (token < vocabulary.FirstMerged()) return vocabulary.names[token - kTpeSpecials];
  const auto [left, right] = vocabulary.merges[token - vocabulary.FirstMerged()];
  return TextOf(vocabulary, left) + " " + TextOf(vocabulary, right);
}
std::vector<std::string> TextsOf(const TpeVocabulary& vocabulary,
                                 const std::vector<TpeToken>& sequence) {
  std::vector<std::string> texts;
  texts.reserve(sequence.size());
  for (const TpeToken& token : sequence) texts.push_back(TextOf(vocabulary, token.token));
  return texts;
}
std::vector<std::string> MergesOf(const TpeVocabulary& vocabulary) {
  std::vector<std::string> texts;
  for (uint32_t token = vocabulary.FirstMerged(); token < vocabulary.Size(); ++token) {
    texts.push_back(TextOf(vocabulary, token));
  }
  return texts;
}

// A step of two operators, each with the same call and kernel.
Trees TwoOperators() {
  Trees trees;
  trees.Node(kNone, EventKind::kRange, "step", 100);
  trees.Node(0, EventKind::kOperator, "mul", 40).Node(1, EventKind::kRuntime, "launch", 5);
  trees.Node(2, EventKind::kKernel, "gemm", 20);
  trees.Node(0, EventKind::kOperator, "add", 30).Node(4, EventKind::kRuntime, "launch", 6);
  trees.Node(5, EventKind::kKernel, "gemm", 10);
  return trees.EndStep();
}

TEST(Tpe, TwoSymbolsANodeBeforeAnyMerge) {
  const Trees trees = TwoOperators();
  const TpeVocabulary vocabulary = Train(trees.Get(), 0);
  EXPECT_EQ(vocabulary.names, (std::vector<std::string>{"add", "gemm", "launch", "mul", "step"}));
  const std::vector<TpeToken> sequence = EncodeTpe(vocabulary, trees.Get(), 0);
  ASSERT_EQ(sequence.size(), 2 * trees.Get().Nodes());
  EXPECT_EQ(TextsOf(vocabulary, sequence),
            (std::vector<std::string>{"STEP", "step", "BE", "mul", "RT", "launch", "K", "gemm",
                                      "BE", "add", "RT", "launch", "K", "gemm"}));
  EXPECT_EQ(sequence[0], (TpeToken{kTpeStep, kNone, 0, 0}));
  EXPECT_EQ(sequence[7], (TpeToken{kTpeSpecials + 1, 4, 3, 20}));  // gemm: below the call's tag
}

TEST(Tpe, MergesTheMostFrequentAndOfEqualsTheFirst) {
  const Trees trees = TwoOperators();
  const TpeVocabulary vocabulary = Train(trees.Get(), 100);
  EXPECT_EQ(MergesOf(vocabulary),
            (std::vector<std::string>{"RT launch", "RT launch K", "RT launch K gemm"}));
  const std::vector<TpeToken> sequence = EncodeTpe(vocabulary, trees.Get(), 0);
  ASSERT_EQ(sequence.size(), 8U);
  const uint32_t merged = vocabulary.FirstMerged() + 2;
  EXPECT_EQ(sequence[4], (TpeToken{merged, 2, 2, 25}));
  EXPECT_EQ(sequence[7], (TpeToken{merged, 5, 2, 16}));

  EXPECT_EQ(MergesOf(Train(trees.Get(), 1)), (std::vector<std::string>{"RT launch"}));
}

TEST(Tpe, NamesThatFillTheTargetLeaveNoMerges) {
  const Trees trees = TwoOperators();
  const TpeVocabulary vocabulary = TrainTpe(trees.Get(), AllSteps(trees.Get()), 10);
  EXPECT_EQ(vocabulary.names.size(), 5U);
  EXPECT_TRUE(vocabulary.merges.empty());
}

TEST(Tpe, UnknownNamesBecomeOneToken) {
  Trees trees = TwoOperators();
  trees.Node(kNone, EventKind::kRange, "step").Node(0, EventKind::kOperator, "sub");
  trees.Node(1, EventKind::kRuntime, "launch").Node(2, EventKind::kKernel, "softmax").EndStep();
  const std::vector<size_t> training = {0};
  const TpeVocabulary vocabulary = TrainTpe(trees.Get(), training, 100);
  EXPECT_EQ(TextsOf(vocabulary, EncodeTpe(vocabulary, trees.Get(), 1)),
            (std::vector<std::string>{"STEP", "step", "BE", "UNKNOWN", "RT launch K", "UNKNOWN"}));
}

TEST(Tpe, MergesNeverCrossSteps) {
  Trees trees;
  for (int i = 0; i < 6; ++i) trees.Node(kNone, EventKind::kRange, "step").EndStep();
  trees.EndStep();  // a step without nodes
  const TpeVocabulary vocabulary = Train(trees.Get(), 100);
  EXPECT_EQ(MergesOf(vocabulary), std::vector<std::string>{"STEP step"});
  EXPECT_EQ(EncodeTpe(vocabulary, trees.Get(), 5).size(), 1U);
  EXPECT_TRUE(EncodeTpe(vocabulary, trees.Get(), 6).empty());
}

TEST(Tpe, MergesSiblingsAndCousins) {
  Trees trees;
  trees.Node(kNone, EventKind::kRange, "step");
  for (uint32_t group = 0; group < 8; ++group) {
    trees.Node(0, EventKind::kOperator, "group");
    trees.Node(1 + 3 * group, EventKind::kRuntime, "a")
        .Node(1 + 3 * group, EventKind::kRuntime, "b");
  }
  trees.EndStep();
  const TpeVocabulary vocabulary = Train(trees.Get(), 100);
  const std::vector<std::string> merges = MergesOf(vocabulary);
  const std::string two_groups = "BE group RT a RT b BE group RT a RT b";
  EXPECT_NE(std::find(merges.begin(), merges.end(), two_groups), merges.end());
  const TpeStructure structure = StructureOfTpe(vocabulary, trees.Get(), AllSteps(trees.Get()));
  EXPECT_GT(structure.connected, 0U);
  EXPECT_LT(structure.connected, structure.merged_tokens);
}

TEST(Tpe, ATokenIsConnectedOnlyIfItIsEverywhere) {
  // "K x K x": in one step parent and child, in the other siblings.
  Trees trees;
  trees.Node(kNone, EventKind::kRange, "one").Node(0, EventKind::kKernel, "x");
  trees.Node(1, EventKind::kKernel, "x").EndStep();
  trees.Node(kNone, EventKind::kRange, "two").Node(0, EventKind::kKernel, "x");
  trees.Node(0, EventKind::kKernel, "x").EndStep();
  const TpeVocabulary vocabulary = Train(trees.Get(), 100);
  ASSERT_EQ(MergesOf(vocabulary), (std::vector<std::string>{"K x", "K x K x"}));
  const auto structure = [&](const std::vector<size_t>& steps) {
    return StructureOfTpe(vocabulary, trees.Get(), steps);
  };
  EXPECT_EQ(structure({0}), (TpeStructure{1, 1}));
  EXPECT_EQ(structure({1}), (TpeStructure{1, 0}));
  EXPECT_EQ(structure({0, 1}), (TpeStructure{1, 0}));
  EXPECT_EQ(structure({}), TpeStructure());
}

TEST(Tpe, TagsFollowFromKinds) {
  Trees trees;
  trees.Node(kNone, EventKind::kRange, "n");
  const std::vector<std::pair<EventKind, uint32_t>> tags = {
      {EventKind::kRange, kTpeFrontEnd},
      {EventKind::kPython, kTpeFrontEnd},
      {EventKind::kCommunication, kTpeFrontEnd},
      {EventKind::kMarker, kTpeFrontEnd},
      {EventKind::kOther, kTpeFrontEnd},
      {EventKind::kOperator, kTpeBackEnd},
      {EventKind::kRuntime, kTpeRuntime},
      {EventKind::kDriver, kTpeDriver},
      {EventKind::kKernel, kTpeKernel},
      {EventKind::kMemcpy, kTpeKernel},
      {EventKind::kMemset, kTpeKernel},
      {EventKind::kSync, kTpeKernel},
      {EventKind::kGraph, kTpeKernel}};
  for (const auto& [kind, tag] : tags) trees.Node(0, kind, "n", -1);
  trees.Unattached().EndStep();
  const std::vector<TpeToken> sequence = EncodeTpe(Train(trees.Get(), 0), trees.Get(), 0);
  ASSERT_EQ(sequence.size(), 2 * (tags.size() + 2));
  EXPECT_EQ(sequence[0].token, kTpeStep);
  for (size_t i = 0; i < tags.size(); ++i) EXPECT_EQ(sequence[2 * i + 2].token, tags[i].second);
  EXPECT_EQ(sequence[2 * tags.size() + 2].token, kTpeFrontEnd);
  for (const TpeToken& token : sequence) EXPECT_GE(token.duration_ns, 0);
}

TEST(Tpe, KernelNames) {
  EXPECT_EQ(TpeKernelName("void at::native::copy_kernel<4, float>(int, float*)"),
            "at::native::copy_kernel");
  EXPECT_EQ(TpeKernelName("_ZN2at6native11copy_kernelIfEEvPT_"), "at::native::copy_kernel");
  EXPECT_EQ(TpeKernelName("_Z4fillPfi"), "fill");
  EXPECT_EQ(TpeKernelName("fill(float*, int)"), "fill");
  EXPECT_EQ(TpeKernelName("void (anonymous namespace)::fill<int>(int)"),
            "(anonymous namespace)::fill");
  EXPECT_EQ(TpeKernelName("void <unnamed>::fill<int>(int)"), "<unnamed>::fill");
  EXPECT_EQ(TpeKernelName("_Znot_a_mangled_name"), "_Znot_a_mangled_name");
  EXPECT_EQ(TpeKernelName("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
  EXPECT_EQ(TpeKernelName(std::string(200, 'k')), std::string(128, 'k'));
  EXPECT_EQ(TpeKernelName("<>"), "<>");
  EXPECT_EQ(TpeKernelName(""), "");
}

// Trees with few names, so that there is much to merge, and pairs of equal symbols.
Trees RandomTrees(std::mt19937& random, int steps, uint32_t largest) {
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  constexpr EventKind kKinds[] = {EventKind::kOperator, EventKind::kRuntime, EventKind::kKernel};
  Trees trees;
  const uint32_t names = 1 + below(5);
  for (int step = 0; step < steps; ++step) {
    trees.Node(kNone, EventKind::kRange, "step", 1000);
    std::vector<uint32_t> path = {0};
    const uint32_t nodes = below(largest);
    for (uint32_t node = 1; node <= nodes; ++node) {
      path.resize(1 + below(static_cast<uint32_t>(path.size())));
      trees.Node(path.back(), kKinds[below(3)],
                 std::string(1, static_cast<char>('a' + below(names))), below(50));
      path.push_back(node);
    }
    trees.EndStep();
  }
  return trees;
}

// What is published, word for word: count all pairs anew for each merge.
TpeVocabulary NaivelyTrained(const CallTrees& trees, size_t size) {
  TpeVocabulary vocabulary = TrainTpe(trees, AllSteps(trees), 0);
  std::vector<Sequence> strings(trees.Steps());
  for (size_t step = 0; step < trees.Steps(); ++step) {
    for (const TpeToken& token : EncodeTpe(vocabulary, trees, step)) {
      strings[step].push_back(token.token);
    }
  }
  std::set<std::string> texts;
  while (vocabulary.Size() < size) {
    std::map<std::pair<uint32_t, uint32_t>, int> counts;
    std::vector<std::pair<uint32_t, uint32_t>> in_order_of_sight;
    for (const Sequence& string : strings) {
      for (size_t i = 0; i + 1 < string.size(); ++i) {
        const std::pair pair(string[i], string[i + 1]);
        if (counts[pair]++ == 0) in_order_of_sight.push_back(pair);
      }
    }
    int most = 1;
    std::pair<uint32_t, uint32_t> best;
    for (const auto& pair : in_order_of_sight) {
      const std::string text =
          TextOf(vocabulary, pair.first) + " " + TextOf(vocabulary, pair.second);
      EXPECT_FALSE(texts.contains(text)) << text;  // published: passed over
      if (counts[pair] <= most) continue;
      most = counts[pair];
      best = pair;
    }
    if (most < 2) break;
    const auto merged = static_cast<uint32_t>(vocabulary.Size());
    vocabulary.merges.push_back(best);
    vocabulary.pair_tokens.emplace(TpePairKey(best.first, best.second), merged);
    texts.insert(TextOf(vocabulary, merged));
    for (Sequence& string : strings) {
      for (size_t i = 0; i + 1 < string.size(); ++i) {
        if (std::pair(string[i], string[i + 1]) != best) continue;
        string[i] = merged;
        string.erase(string.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
  }
  return vocabulary;
}

bool MergeOnceNaively(const TpeVocabulary& vocabulary, std::vector<TpeToken>& sequence) {
  for (size_t merge = 0; merge < vocabulary.merges.size(); ++merge) {
    const auto [left, right] = vocabulary.merges[merge];
    for (size_t i = 0; i + 1 < sequence.size(); ++i) {
      if (sequence[i].token != left || sequence[i + 1].token != right) continue;
      sequence[i].token = static_cast<uint32_t>(vocabulary.FirstMerged() + merge);
      sequence[i].duration_ns += sequence[i + 1].duration_ns;
      sequence.erase(sequence.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      for (TpeToken& token : sequence) {
        if (token.parent != kNone && token.parent > i) --token.parent;
      }
      return true;
    }
  }
  return false;
}
// Looks through all merges from the first after each that applies.
std::vector<TpeToken> NaivelyEncoded(const TpeVocabulary& vocabulary, const CallTrees& trees,
                                     size_t step) {
  TpeVocabulary without_merges = vocabulary;
  without_merges.pair_tokens.clear();
  std::vector<TpeToken> sequence = EncodeTpe(without_merges, trees, step);
  while (MergeOnceNaively(vocabulary, sequence)) {
  }
  return sequence;
}

TEST(Tpe, EqualsTheNaiveWayOnRandomTrees) {
  std::mt19937 random(20260);
  size_t merges = 0;
  for (int round = 0; round < 150; ++round) {
    const Trees trees = RandomTrees(random, 3, 60);
    const Trees unseen = RandomTrees(random, 2, 60);
    const size_t size = kTpeSpecials + random() % 80;
    const TpeVocabulary vocabulary = TrainTpe(trees.Get(), AllSteps(trees.Get()), size);
    ASSERT_EQ(vocabulary.merges, NaivelyTrained(trees.Get(), size).merges) << "round " << round;
    merges += vocabulary.merges.size();
    for (const CallTrees* input : {&trees.Get(), &unseen.Get()}) {
      for (const size_t step : AllSteps(*input)) {
        ASSERT_EQ(EncodeTpe(vocabulary, *input, step), NaivelyEncoded(vocabulary, *input, step))
            << "round " << round << ", step " << step;
      }
    }
  }
  EXPECT_GT(merges, 1000U);
}

TEST(Tpe, DurationsAddUp) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const Trees trees = RandomTrees(random, 1, 200);
    const auto& durations = trees.Get().duration_ns;
    int64_t sum = 0;
    for (const TpeToken& token : EncodeTpe(Train(trees.Get(), 60), trees.Get(), 0)) {
      sum += token.duration_ns;
    }
    EXPECT_EQ(sum, std::accumulate(durations.begin(), durations.end(), int64_t{0}));
  }
}

// Of a token whose nodes are known one by one.
TpeStructure NaiveStructure(const TpeVocabulary& vocabulary, const CallTrees& trees) {
  std::map<uint32_t, bool> connected;
  for (const size_t step : AllSteps(trees)) {
    // After each further merge, what every token of the sequence covers.
    TpeVocabulary prefix = vocabulary;
    prefix.merges.clear();
    prefix.pair_tokens.clear();
    for (const auto& [left, right] : vocabulary.merges) {
      prefix.pair_tokens.emplace(TpePairKey(left, right), static_cast<uint32_t>(prefix.Size()));
      prefix.merges.emplace_back(left, right);
      size_t symbol = 0;
      for (const TpeToken& token : EncodeTpe(prefix, trees, step)) {
        const std::string text = TextOf(vocabulary, token.token);
        const auto symbols = static_cast<size_t>(std::count(text.begin(), text.end(), ' ')) + 1;
        const size_t first = symbol / 2;
        const size_t last = (symbol + symbols - 1) / 2;
        symbol += symbols;
        if (first == last) continue;
        size_t roots = 0;
        for (size_t node = first; node <= last; ++node) {
          const uint32_t parent = trees.parent[trees.first[step] + node];
          if (parent == kNone || parent < first) ++roots;
        }
        const auto [entry, is_new] = connected.try_emplace(token.token, true);
        entry->second = entry->second && roots == 1;
      }
    }
  }
  TpeStructure structure;
  for (const auto& [token, is_connected] : connected) {
    ++structure.merged_tokens;
    structure.connected += is_connected ? 1U : 0U;
  }
  return structure;
}

TEST(Tpe, StructureEqualsTheNaiveWayOnRandomTrees) {
  std::mt19937 random(99);
  for (int round = 0; round < 50; ++round) {
    const Trees trees = RandomTrees(random, 2, 40);
    const TpeVocabulary vocabulary = Train(trees.Get(), 30);
    EXPECT_EQ(StructureOfTpe(vocabulary, trees.Get(), AllSteps(trees.Get())),
              NaiveStructure(vocabulary, trees.Get()));
  }
}

}  // namespace
}  // namespace telltale::bench
