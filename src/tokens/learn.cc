#include "tokens/learn.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "tokens/sibling_pairs.h"
#include "tokens/slot_values.h"
#include "tokens/token_choice.h"

namespace telltale::tokens {
namespace {

constexpr size_t kMostPairs = size_t{1} << 20;

class Learner {
 public:
  Learner(const CallTrees& trees, const LearnOptions& options)
      : trees_(trees), options_(options), node_labels_(LabelsOf(trees, labels_)) {}

  Result<Codec> Learn() {
    SubtreeTable table(labels_.size());
    FoldAll(table);
    const std::vector<PairSymbol> pairs =
        FindPairs(lists_, static_cast<uint32_t>(table.size()), kMostPairs);
    const SymbolGraph graph = GraphOf(table, pairs);
    const TokenChoice choice = ChooseTokens(graph, options_.size - kFallbacks);
    Vocabulary vocabulary = VocabularyOf(table, pairs, choice);
    vocabulary.steps = trees_.Steps();
    vocabulary.nodes = trees_.Nodes();
    TELLTALE_ASSIGN(const Codec codec, Codec::Make(vocabulary));
    vocabulary.slots = LearnSlots(codec, trees_, options_.threads);
    // As it will be read again: text that is no UTF-8 is replaced in a file.
    TELLTALE_ASSIGN(vocabulary, ParseVocabulary(VocabularyText(vocabulary)));
    return Codec::Make(std::move(vocabulary));
  }

 private:
  // Events that no token can hold are alike if they have the same label and children that lie
  // alike.
  struct OpenEvent {
    uint32_t label;
    std::vector<uint32_t> trees;
    std::vector<std::array<uint32_t, 3>> places;  // numbered as they come
    auto operator<=>(const OpenEvent&) const = default;
  };

  static std::vector<std::array<uint32_t, 3>> Relative(const std::vector<Places>& places) {
    std::array<std::unordered_map<uint32_t, uint32_t>, 3> seen;
    std::vector<std::array<uint32_t, 3>> relative;
    for (const Places& place : places) {
      const std::array<uint32_t, 3> numbers = {place.thread, place.stream, place.communicator};
      std::array<uint32_t, 3> as_they_come = numbers;
      for (size_t i = 0; i < 3; ++i) {
        if (numbers[i] == kNone || numbers[i] == kMany) continue;
        const auto next = static_cast<uint32_t>(seen[i].size());
        as_they_come[i] = seen[i].try_emplace(numbers[i], next).first->second;
      }
      relative.push_back(as_they_come);
    }
    return relative;
  }

  // The trees of all steps; lists of the children of trees, and behind them of other events.
  void FoldAll(SubtreeTable& table) {
    std::map<OpenEvent, uint64_t> open_events;
    FoldedStep folded;
    for (size_t step = 0; step < trees_.Steps(); ++step) {
      FoldStep(trees_, node_labels_, step, table, folded);
      if (folded.tree[0] != kNone) {
        ++whole_steps_[folded.tree[0]];
        continue;
      }
      for (uint32_t node = 0; node < folded.size();) {
        if (folded.tree[node] != kNone) {
          node += folded.nodes[node];
          continue;
        }
        OpenEvent event;
        event.label = node_labels_[trees_.first[step] + node];
        std::vector<Places> places;
        const uint32_t end = node + folded.nodes[node];
        for (uint32_t child = node + 1; child < end; child += folded.nodes[child]) {
          event.trees.push_back(folded.tree[child]);
          places.push_back(folded.places[child]);
        }
        event.places = Relative(places);
        ++open_events[std::move(event)];
        ++node;
      }
    }
    for (uint32_t tree = 0; tree < table.size(); ++tree) {
      const std::span<const uint32_t> children = table.Children(tree);
      lists_.push_back({{children.begin(), children.end()}, {}, 1});
    }
    for (const auto& [event, count] : open_events) {
      SiblingList list = {event.trees, {}, count};
      for (const auto& [thread, stream, communicator] : event.places) {
        list.places.push_back({thread, stream, communicator});
      }
      lists_.push_back(std::move(list));
      open_labels_.emplace_back(event.label, count);
    }
  }

  SymbolGraph GraphOf(const SubtreeTable& table, const std::vector<PairSymbol>& pairs) {
    SymbolGraph graph;
    const auto trees = static_cast<uint32_t>(table.size());
    std::vector<uint64_t> nodes;
    for (uint32_t tree = 0; tree < trees; ++tree) {
      graph.label.push_back(table.Label(tree));
      graph.times.push_back(1);
      const std::vector<uint32_t>& parts = lists_[tree].symbols;
      graph.parts.insert(graph.parts.end(), parts.begin(), parts.end());
      graph.first.push_back(graph.parts.size());
      graph.may_be_token.push_back(!parts.empty());
      nodes.push_back(table.Nodes(tree));
    }
    std::vector<uint64_t> length(trees, 1);  // as trees
    for (const PairSymbol& pair : pairs) {
      graph.label.push_back(kNone);
      graph.times.push_back(pair.times);
      graph.parts.push_back(pair.left);
      if (pair.right != kNone) graph.parts.push_back(pair.right);
      graph.first.push_back(graph.parts.size());
      const bool is_run = pair.right == kNone;
      nodes.push_back(nodes[pair.left] * pair.times + (is_run ? 0 : nodes[pair.right]));
      length.push_back(length[pair.left] * pair.times + (is_run ? 0 : length[pair.right]));
      // A run is a token and a number already.
      graph.may_be_token.push_back(!is_run && length.back() <= kMostSiblings);
    }
    graph.order.resize(graph.size());
    std::iota(graph.order.begin(), graph.order.end(), 0u);
    std::stable_sort(graph.order.begin(), graph.order.end(),
                     [&](uint32_t a, uint32_t b) { return nodes[a] < nodes[b]; });
    graph.exposure.resize(graph.size());
    graph.label_exposure.resize(labels_.size());
    for (const auto& [tree, count] : whole_steps_) {
      graph.exposure[tree] += static_cast<double>(count);
    }
    for (size_t i = 0; i < open_labels_.size(); ++i) {
      const auto [label, count] = open_labels_[i];
      graph.label_exposure[label] += static_cast<double>(count);
      for (const uint32_t symbol : lists_[trees + i].symbols) {
        if (symbol != kNone) graph.exposure[symbol] += static_cast<double>(count);
      }
    }
    return graph;
  }

  static std::vector<uint32_t> TreesOf(uint32_t symbol, uint32_t trees,
                                       const std::vector<PairSymbol>& pairs) {
    std::vector<uint32_t> found, open = {symbol};
    while (!open.empty()) {
      const uint32_t top = open.back();
      open.pop_back();
      if (top < trees) {
        found.push_back(top);
        continue;
      }
      const PairSymbol& pair = pairs[top - trees];
      if (pair.right != kNone) open.push_back(pair.right);
      open.insert(open.end(), pair.times, pair.left);
    }
    return found;
  }

  // Only what the tokens need of the labels and trees.
  Vocabulary VocabularyOf(const SubtreeTable& table, const std::vector<PairSymbol>& pairs,
                          const TokenChoice& choice) const {
    const auto trees = static_cast<uint32_t>(table.size());
    std::vector<std::vector<uint32_t>> chosen;  // trees, by token of several events
    std::set<std::vector<uint32_t>> known;
    for (const uint32_t symbol : choice.symbols) {
      std::vector<uint32_t> list = TreesOf(symbol, trees, pairs);
      if (known.insert(list).second) chosen.push_back(std::move(list));
    }
    const auto nodes_of = [&](const std::vector<uint32_t>& list) {
      uint64_t nodes = 0;
      for (const uint32_t tree : list) nodes += table.Nodes(tree);
      return nodes;
    };
    // Smaller ones first: definitions are made of tokens below them.
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](const auto& a, const auto& b) { return nodes_of(a) < nodes_of(b); });

    uint64_t room = kMostExpandedEvents;
    std::erase_if(chosen, [&](const auto& list) {
      const uint64_t nodes = nodes_of(list);
      if (nodes > room) return true;
      room -= nodes;
      return false;
    });

    std::vector<bool> needs_tree(trees);
    for (const auto& list : chosen) {
      for (const uint32_t tree : list) needs_tree[tree] = true;
    }
    for (uint32_t tree = trees; tree > 0;) {
      if (!needs_tree[--tree]) continue;
      for (const uint32_t child : table.Children(tree)) needs_tree[child] = true;
    }
    Vocabulary vocabulary;
    std::vector<uint32_t> new_label(labels_.size(), kNone);
    const auto add_label = [&](uint32_t label) {
      if (new_label[label] != kNone) return;
      new_label[label] = static_cast<uint32_t>(vocabulary.labels.size());
      vocabulary.labels.push_back(labels_.labels()[label]);
    };
    for (const uint32_t label : choice.labels) add_label(label);
    for (uint32_t tree = 0; tree < trees; ++tree) {
      if (needs_tree[tree]) add_label(table.Label(tree));
    }
    SubtreeTable kept(vocabulary.labels.size());
    std::vector<uint32_t> new_tree(trees, kNone);
    for (uint32_t tree = 0; tree < trees; ++tree) {
      if (!needs_tree[tree]) continue;
      std::vector<uint32_t> children;
      for (const uint32_t child : table.Children(tree)) children.push_back(new_tree[child]);
      new_tree[tree] = kept.Add(new_label[table.Label(tree)], children);
    }

    std::vector<TokenShape> shapes(kFallbacks);
    for (const uint32_t label : choice.labels) {
      shapes.push_back({TokenKind::kLabel, new_label[label], {}});
    }
    for (const std::vector<uint32_t>& list : chosen) {
      TokenShape shape;
      shape.kind = list.size() == 1 ? TokenKind::kSubtree : TokenKind::kSiblings;
      for (const uint32_t tree : list) shape.trees.push_back(new_tree[tree]);
      shapes.push_back(std::move(shape));
    }
    const Grammar grammar(std::move(kept), shapes, vocabulary.labels.size());
    for (uint32_t token = 0; token < shapes.size(); ++token) {
      Token described;
      described.kind = shapes[token].kind;
      if (described.kind == TokenKind::kLabel) {
        described.items.push_back({kNone, shapes[token].label, 1, 0, kNone});
      } else if (described.kind != TokenKind::kFallback) {
        described.items = grammar.Define(shapes[token], token);
      }
      for (Item& item : described.items) {
        if (item.token != kNone) continue;
        item.slot = static_cast<uint32_t>(vocabulary.slots.size());
        vocabulary.slots.emplace_back();
      }
      vocabulary.tokens.push_back(std::move(described));
    }
    return vocabulary;
  }

  const CallTrees& trees_;
  const LearnOptions& options_;
  LabelTable labels_;
  std::vector<uint32_t> node_labels_;
  std::map<uint32_t, uint64_t> whole_steps_;  // steps that are one tree
  std::vector<SiblingList> lists_;            // by tree, and behind them by open event
  std::vector<std::pair<uint32_t, uint64_t>> open_labels_;  // by open event: its label, how often
};

}  // namespace

Result<Codec> LearnVocabulary(const CallTrees& trees, const LearnOptions& options) {
  if (trees.Steps() == 0) return Fail("there are no steps to learn from");
  if (options.size < kSmallestVocabulary || options.size > kLargestVocabulary) {
    return Fail("a vocabulary has {} to {} tokens", kSmallestVocabulary, kLargestVocabulary);
  }
  return Learner(trees, options).Learn();
}

}  // namespace telltale::tokens
