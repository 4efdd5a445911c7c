#include "bench/tpe.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <tuple>
#include <unordered_set>

namespace telltale::bench {
namespace {

using tokens::CallTrees;
using tokens::kNone;
using trace::EventKind;

uint32_t TagOf(const CallTrees& trees, size_t node) {
  // The node that holds what is not attached is no step, wherever it hangs.
  if (trees.parent[node] == kNone && trees.event[node] >= 0) return kTpeStep;
  switch (trees.kind[node]) {
    case EventKind::kOperator:
      return kTpeBackEnd;
    case EventKind::kRuntime:
      return kTpeRuntime;
    case EventKind::kDriver:
      return kTpeDriver;
    case EventKind::kKernel:
    case EventKind::kMemcpy:
    case EventKind::kMemset:
    case EventKind::kSync:
    case EventKind::kGraph:
      return kTpeKernel;
    case EventKind::kRange:
    case EventKind::kPython:
    case EventKind::kCommunication:
    case EventKind::kMarker:
    case EventKind::kOther:
      return kTpeFrontEnd;
  }
  return kTpeFrontEnd;
}

// Symbols of steps. A name is looked at once, not once a node.
class SymbolWriter {
 public:
  SymbolWriter(const TpeVocabulary& vocabulary, const CallTrees& trees)
      : vocabulary_(vocabulary), trees_(trees), tokens_(2 * trees.names.size(), kNone) {}

  void Append(size_t step, std::vector<uint32_t>& symbols) {
    for (size_t node = trees_.first[step]; node < trees_.first[step + 1]; ++node) {
      symbols.push_back(TagOf(trees_, node));
      symbols.push_back(NameToken(node));
    }
  }

 private:
  uint32_t NameToken(size_t node) {
    const bool is_kernel = trees_.kind[node] == EventKind::kKernel;
    uint32_t& token = tokens_[2 * size_t{trees_.name[node]} + (is_kernel ? 1 : 0)];
    if (token != kNone) return token;
    const std::string& name = trees_.names[trees_.name[node]];
    const auto found = vocabulary_.name_tokens.find(is_kernel ? TpeKernelName(name) : name);
    token = found == vocabulary_.name_tokens.end() ? uint32_t{kTpeUnknown} : found->second;
    return token;
  }

  const TpeVocabulary& vocabulary_;
  const CallTrees& trees_;
  std::vector<uint32_t> tokens_;  // by name and whether it is a kernel's; kNone: not yet known
};

void AddNames(const CallTrees& trees, std::span<const size_t> steps, TpeVocabulary& vocabulary) {
  std::unordered_set<uint64_t> seen;
  for (const size_t step : steps) {
    for (size_t node = trees.first[step]; node < trees.first[step + 1]; ++node) {
      const bool is_kernel = trees.kind[node] == EventKind::kKernel;
      if (!seen.insert(2 * uint64_t{trees.name[node]} + (is_kernel ? 1 : 0)).second) continue;
      const std::string& name = trees.names[trees.name[node]];
      vocabulary.names.push_back(is_kernel ? TpeKernelName(name) : name);
    }
  }
  std::vector<std::string>& names = vocabulary.names;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (size_t i = 0; i < names.size(); ++i) {
    vocabulary.name_tokens.emplace(names[i], static_cast<uint32_t>(kTpeSpecials + i));
  }
}

// The steps' symbols in one list whose links end at the borders of steps.
struct SymbolList {
  std::vector<uint32_t> token;  // by place; kNone: merged into one before it
  std::vector<uint32_t> next, previous;

  void EndStep(size_t begin) {
    for (size_t place = begin; place < token.size(); ++place) {
      previous.push_back(place == begin ? kNone : static_cast<uint32_t>(place - 1));
      next.push_back(place + 1 == token.size() ? kNone : static_cast<uint32_t>(place + 1));
    }
  }
  bool Holds(uint32_t place, uint32_t left, uint32_t right) const {
    return token[place] == left && next[place] != kNone && token[next[place]] == right;
  }
  void Merge(uint32_t place, uint32_t merged) {
    const uint32_t right = next[place];
    token[place] = merged;
    token[right] = kNone;
    next[place] = next[right];
    if (next[right] != kNone) previous[next[right]] = place;
  }
};

class Trainer {
 public:
  explicit Trainer(SymbolList list) : list_(std::move(list)) {
    for (uint32_t place = 0; place < list_.token.size(); ++place) {
      if (list_.next[place] != kNone) Add(list_.token[place], list_.token[place + 1], place);
    }
    QueueFrom(0);
  }

  void Learn(size_t size, TpeVocabulary& vocabulary) {
    while (vocabulary.Size() < size) {
      const uint32_t best = TakeMostFrequent();
      if (best == kNone) return;
      const auto [left, right] = std::pair(pairs_[best].left, pairs_[best].right);
      const auto merged = static_cast<uint32_t>(vocabulary.Size());
      vocabulary.merges.emplace_back(left, right);
      vocabulary.pair_tokens.emplace(TpePairKey(left, right), merged);
      Merge(best, merged);
    }
  }

 private:
  struct Pair {
    uint32_t left, right;
    uint64_t count = 0;
    size_t cursor = 0;             // places before it do not hold the pair any more
    std::vector<uint32_t> places;  // rising; some may not hold it any more
  };
  // What a pair was worth when it was queued.
  struct Candidate {
    uint64_t count;
    uint32_t first_place;
    uint32_t pair;
    bool operator<(const Candidate& other) const {
      return std::tuple(count, other.first_place) < std::tuple(other.count, first_place);
    }
  };

  void Add(uint32_t left, uint32_t right, uint32_t place) {
    const auto [found, is_new] =
        numbers_.try_emplace(TpePairKey(left, right), static_cast<uint32_t>(pairs_.size()));
    if (is_new) pairs_.push_back({.left = left, .right = right, .places = {}});
    Pair& pair = pairs_[found->second];
    ++pair.count;
    pair.places.push_back(place);
  }
  void Remove(uint32_t left, uint32_t right) {
    --pairs_[numbers_.find(TpePairKey(left, right))->second].count;
  }

  Candidate Worth(uint32_t number) {
    Pair& pair = pairs_[number];
    if (pair.count == 0) return {0, kNone, number};
    while (!list_.Holds(pair.places[pair.cursor], pair.left, pair.right)) ++pair.cursor;
    return {pair.count, pair.places[pair.cursor], number};
  }
  void QueueFrom(size_t first_pair) {
    for (size_t pair = first_pair; pair < pairs_.size(); ++pair) {
      if (pairs_[pair].count >= 2) queue_.push(Worth(static_cast<uint32_t>(pair)));
    }
  }

  // New neighbours always include the newest token. So after the merge that made it, a pair only
  // becomes rarer, and its first place later only when it becomes rarer: a candidate that is as
  // frequent as when it was queued is the best.
  uint32_t TakeMostFrequent() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const Candidate now = Worth(best.pair);
      if (now.count < 2) continue;
      if (now.count == best.count) return best.pair;
      queue_.push(now);
    }
    return kNone;
  }

  void Merge(uint32_t number, uint32_t merged) {
    const size_t first_new_pair = pairs_.size();
    const auto [left, right] = std::pair(pairs_[number].left, pairs_[number].right);
    const std::vector<uint32_t> places = std::move(pairs_[number].places);
    for (const uint32_t place : places) {
      if (!list_.Holds(place, left, right)) continue;
      const uint32_t before = list_.previous[place];
      const uint32_t after = list_.next[list_.next[place]];
      if (before != kNone) Remove(list_.token[before], left);
      if (after != kNone) Remove(right, list_.token[after]);
      Remove(left, right);
      list_.Merge(place, merged);
      if (before != kNone) Add(list_.token[before], merged, before);
      if (after != kNone) Add(merged, list_.token[after], place);
    }
    QueueFrom(first_new_pair);
  }

  SymbolList list_;
  std::vector<Pair> pairs_;
  std::unordered_map<uint64_t, uint32_t> numbers_;
  std::priority_queue<Candidate> queue_;
};

// Applies the merges to one step: always the one that was learned first, at its first place.
// `on_merge(place, right, token)` is called after each.
template <typename OnMerge>
void ApplyMerges(const TpeVocabulary& vocabulary, SymbolList& list, const OnMerge& on_merge) {
  using Candidate = std::pair<uint32_t, uint32_t>;  // token, place
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](uint32_t place) {
    if (list.next[place] == kNone) return;
    const uint64_t key = TpePairKey(list.token[place], list.token[list.next[place]]);
    const auto found = vocabulary.pair_tokens.find(key);
    if (found != vocabulary.pair_tokens.end()) queue.emplace(found->second, place);
  };
  for (uint32_t place = 0; place < list.token.size(); ++place) consider(place);
  while (!queue.empty()) {
    const auto [token, place] = queue.top();
    queue.pop();
    const auto [left, right] = vocabulary.merges[token - vocabulary.FirstMerged()];
    if (!list.Holds(place, left, right)) continue;
    const uint32_t right_place = list.next[place];
    list.Merge(place, token);
    on_merge(place, right_place, token);
    if (list.previous[place] != kNone) consider(list.previous[place]);
    consider(place);
  }
}

SymbolList SymbolsOf(SymbolWriter& writer, size_t step) {
  SymbolList list;
  writer.Append(step, list.token);
  list.EndStep(0);
  return list;
}

std::vector<uint32_t> DepthsOf(const CallTrees& trees, size_t step) {
  const size_t first = trees.first[step];
  std::vector<uint32_t> depth(trees.first[step + 1] - first);
  for (size_t i = 0; i < depth.size(); ++i) {
    const uint32_t parent = trees.parent[first + i];
    depth[i] = parent == kNone ? 0 : depth[parent] + 1;
  }
  return depth;
}

// Where `marks` that belong to the name, as in "<unnamed>::f", are passed over.
size_t FindUnless(std::string_view name, char mark, std::string_view part_of_name) {
  size_t at = name.find(mark);
  while (at != std::string_view::npos && name.substr(at).starts_with(part_of_name)) {
    at = name.find(mark, at + part_of_name.size());
  }
  return at;
}

}  // namespace

std::string TpeKernelName(std::string_view name) {
  std::string text(name);
  if (name.starts_with("_Z")) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
    if (plain != nullptr) text = plain.get();
  }
  std::string_view kept = text;
  kept = kept.substr(0, std::min(FindUnless(kept, '<', "<unnamed>"),
                                 FindUnless(kept, '(', "(anonymous namespace)")));
  // A kernel returns nothing, and if it is no template the mangled name does not say so.
  constexpr std::string_view kReturnType = "void ";
  if (kept.starts_with(kReturnType)) kept.remove_prefix(kReturnType.size());
  while (kept.ends_with(' ')) kept.remove_suffix(1);
  if (kept.empty()) kept = text;
  constexpr size_t kLongest = 128;
  return std::string(kept.substr(0, kLongest));
}

TpeVocabulary TrainTpe(const CallTrees& trees, std::span<const size_t> steps, size_t size) {
  TpeVocabulary vocabulary;
  AddNames(trees, steps, vocabulary);
  if (vocabulary.Size() >= size) return vocabulary;
  SymbolWriter writer(vocabulary, trees);
  SymbolList list;
  for (const size_t step : steps) {
    const size_t begin = list.token.size();
    writer.Append(step, list.token);
    list.EndStep(begin);
  }
  Trainer(std::move(list)).Learn(size, vocabulary);
  return vocabulary;
}

std::vector<TpeToken> EncodeTpe(const TpeVocabulary& vocabulary, const CallTrees& trees,
                                size_t step) {
  SymbolWriter writer(vocabulary, trees);
  SymbolList list = SymbolsOf(writer, step);
  ApplyMerges(vocabulary, list, [](uint32_t, uint32_t, uint32_t) {});

  const std::vector<uint32_t> depth = DepthsOf(trees, step);
  std::vector<TpeToken> sequence;
  std::vector<uint32_t> holder(depth.size());  // by node: place in the sequence of its tag
  for (size_t place = 0; place < list.token.size(); ++place) {
    const size_t node = place / 2;
    const size_t row = trees.first[step] + node;
    const bool is_tag = place % 2 == 0;
    if (list.token[place] != kNone) {
      const uint32_t parent = trees.parent[row];
      sequence.push_back({.token = list.token[place],
                          .parent = parent == kNone ? kNone : holder[parent],
                          .depth = depth[node]});
    }
    if (is_tag) holder[node] = static_cast<uint32_t>(sequence.size() - 1);
    if (!is_tag) sequence.back().duration_ns += std::max<int64_t>(trees.duration_ns[row], 0);
  }
  return sequence;
}

TpeStructure StructureOfTpe(const TpeVocabulary& vocabulary, const CallTrees& trees,
                            std::span<const size_t> steps) {
  enum class Cover : uint8_t { kUnused, kConnected, kBroken };
  std::vector<Cover> cover(vocabulary.merges.size());
  SymbolWriter writer(vocabulary, trees);
  for (const size_t step : steps) {
    SymbolList list = SymbolsOf(writer, step);
    const std::vector<uint32_t> depth = DepthsOf(trees, step);
    // By place: depth of the highest node of the token there, its first node aside.
    constexpr uint32_t kSingle = std::numeric_limits<uint32_t>::max();
    std::vector<uint32_t> highest(list.token.size(), kSingle);
    ApplyMerges(vocabulary, list, [&](uint32_t place, uint32_t right, uint32_t token) {
      highest[place] = std::min(highest[place], highest[right]);
      if (right / 2 != place / 2) highest[place] = std::min(highest[place], depth[right / 2]);
      if (highest[place] == kSingle) return;
      // In depth-first order, neighbours are one subtree if all but the first are below the first.
      Cover& known = cover[token - vocabulary.FirstMerged()];
      if (highest[place] <= depth[place / 2]) known = Cover::kBroken;
      if (known == Cover::kUnused) known = Cover::kConnected;
    });
  }
  TpeStructure structure;
  for (const Cover one : cover) {
    if (one != Cover::kUnused) ++structure.merged_tokens;
    if (one == Cover::kConnected) ++structure.connected;
  }
  return structure;
}

}  // namespace telltale::bench
