#include "tokens/grammar.h"

#include <algorithm>

namespace telltale::tokens {
namespace {

// A node that is no token costs about so much more than any choice between tokens.
constexpr uint32_t kUnknownCost = 8;
// Tokens that begin at an item of a list, in the mean: far more than any that was learned has.
constexpr size_t kMostFound = 16;

// Items of one definition in the order of a walk, turned into trees and events.
class DefinitionReader {
 public:
  DefinitionReader(const Vocabulary& vocabulary, const std::vector<TokenShape>& shapes,
                   const std::vector<Expansion>& expansions, SubtreeTable& table)
      : vocabulary_(vocabulary), shapes_(shapes), expansions_(expansions), table_(table) {}

  // The trees at the top. Fills `expansion`.
  Result<std::vector<uint32_t>> Read(uint32_t token, Expansion& expansion, uint64_t& room) {
    const std::vector<Item>& items = vocabulary_.tokens[token].items;
    open_.clear();
    open_.push_back({kNone, kNone, 0, {}});
    for (const Item& item : items) {
      TELLTALE_TRY(Check(item, token));
      const uint64_t events =
          item.token == kNone ? item.times : expansions_[item.token].size() * uint64_t{item.times};
      if (events > room) {
        return Fail("its tokens stand for more than {} events", kMostExpandedEvents);
      }
      room -= events;
      const uint32_t parent = open_.back().event;
      if (open_.size() > 1) --open_.back().children_left;
      if (item.token != kNone) {
        for (uint32_t i = 0; i < item.times; ++i) AddToken(item.token, parent, expansion);
      } else {
        AddEvents(item, parent, expansion);
      }
      while (open_.size() > 1 && open_.back().children_left == 0) Close();
    }
    if (open_.size() != 1) return Fail("token {}: items are missing", token);
    return std::move(open_.back().trees);
  }

 private:
  struct Open {
    uint32_t label;
    uint32_t event;  // of the expansion
    uint32_t children_left;
    std::vector<uint32_t> trees;  // of its children
  };

  Status Check(const Item& item, uint32_t token) const {
    if (item.times == 0) return Fail("token {}: an item that stands there 0 times", token);
    if (item.token != kNone) {
      const bool is_fallback = item.token < kFallbacks;
      if (is_fallback || item.token >= token) {
        return Fail("token {}: refers to token {}, which is not below it", token, item.token);
      }
      if (item.children > 0) return Fail("token {}: a token with children", token);
      return {};
    }
    if (item.label >= vocabulary_.labels.size()) {
      return Fail("token {}: there is no label {}", token, item.label);
    }
    if (item.slot >= vocabulary_.slots.size()) {
      return Fail("token {}: there is no slot {}", token, item.slot);
    }
    if (item.times > 1 && item.children > 0) {
      return Fail("token {}: an event with children stands there once", token);
    }
    return {};
  }

  void AddToken(uint32_t token, uint32_t parent, Expansion& expansion) {
    const Expansion& part = expansions_[token];
    const auto first = static_cast<uint32_t>(expansion.size());
    expansion.label.insert(expansion.label.end(), part.label.begin(), part.label.end());
    expansion.slot.insert(expansion.slot.end(), part.slot.begin(), part.slot.end());
    for (const uint32_t above : part.parent) {
      expansion.parent.push_back(above == kNone ? parent : first + above);
    }
    const TokenShape& shape = shapes_[token];
    std::vector<uint32_t>& trees = open_.back().trees;
    if (shape.kind == TokenKind::kLabel) {
      trees.push_back(table_.Add(shape.label, {}));
    } else {
      trees.insert(trees.end(), shape.trees.begin(), shape.trees.end());
    }
  }

  void AddEvents(const Item& item, uint32_t parent, Expansion& expansion) {
    for (uint32_t i = 0; i < item.times; ++i) {
      const auto event = static_cast<uint32_t>(expansion.size());
      expansion.label.push_back(item.label);
      expansion.parent.push_back(parent);
      expansion.slot.push_back(item.slot);
      open_.push_back({item.label, event, item.children, {}});
      if (i + 1 < item.times) Close();
    }
  }

  void Close() {
    const Open done = std::move(open_.back());
    open_.pop_back();
    open_.back().trees.push_back(table_.Add(done.label, done.trees));
  }

  const Vocabulary& vocabulary_;
  const std::vector<TokenShape>& shapes_;
  const std::vector<Expansion>& expansions_;
  SubtreeTable& table_;
  std::vector<Open> open_;
};

}  // namespace

Grammar::Grammar(SubtreeTable table, std::vector<TokenShape> shapes, size_t labels)
    : table_(std::move(table)),
      shapes_(std::move(shapes)),
      token_of_label_(labels, kNone),
      token_of_tree_(table_.size(), kNone),
      expansions_(shapes_.size()) {
  for (uint32_t token = 0; token < shapes_.size(); ++token) {
    const TokenShape& shape = shapes_[token];
    switch (shape.kind) {
      case TokenKind::kFallback:
        break;
      case TokenKind::kLabel:
        token_of_label_[shape.label] = token;
        break;
      case TokenKind::kSubtree:
        token_of_tree_[shape.trees.front()] = token;
        break;
      case TokenKind::kSiblings:
        AddSiblings(token, shape.trees);
        break;
    }
  }
  for (uint32_t tree = 0; tree < table_.size(); ++tree) {
    if (table_.Children(tree).empty()) token_of_tree_[tree] = token_of_label_[table_.Label(tree)];
  }
  FindCosts();
}

void Grammar::AddSiblings(uint32_t token, std::span<const uint32_t> trees) {
  uint32_t state = 0;
  for (const uint32_t tree : trees) {
    uint32_t next = siblings_.Find(state, tree);
    if (next == Transitions::kMissing) {
      next = static_cast<uint32_t>(token_of_siblings_.size());
      siblings_.Add(state, tree, next);
      token_of_siblings_.push_back(kNone);
    }
    state = next;
  }
  token_of_siblings_[state] = token;
}

void Grammar::FindCosts() {
  Scratch scratch;
  std::vector<Piece> pieces;
  const std::vector<Places> nowhere;
  for (uint32_t tree = 0; tree < table_.size(); ++tree) {
    uint32_t cost = 1;
    if (token_of_tree_[tree] == kNone) {
      if (TokenOfLabel(table_.Label(tree)) == kNone) ++cost;
      const std::span<const uint32_t> children = table_.Children(tree);
      Parse(children, nowhere, kNone, scratch, pieces);
      for (const Piece& piece : pieces) {
        cost += piece.token == kNone ? cost_of_tree_[children[piece.first]]
                                     : (piece.times > 1 ? 2u : 1u);
      }
    }
    cost_of_tree_.push_back(cost);
  }
}

void Grammar::Parse(std::span<const uint32_t> trees, std::span<const Places> places, uint32_t below,
                    Scratch& scratch, std::vector<Piece>& pieces) const {
  pieces.clear();
  const size_t count = trees.size();
  const auto token_of = [&](size_t item) {
    const uint32_t tree = trees[item];
    if (tree == kNone) return kNone;
    const uint32_t token = token_of_tree_[tree];
    return token < below ? token : kNone;
  };
  if (count == 1) {
    pieces.push_back({token_of(0), 1, 0, 1});
    return;
  }
  const auto is_same = [&](size_t one, size_t other) {
    return trees[one] == trees[other] && trees[one] != kNone &&
           (places.empty() || places[one] == places[other]);
  };
  const auto is_same_place = [&](size_t one, size_t other, size_t length) {
    for (size_t i = 0; i < length && !places.empty(); ++i) {
      if (places[one + i] != places[other + i]) return false;
    }
    return true;
  };
  const size_t most_found = kMostFound * (count + 64);
  scratch.found.clear();
  scratch.first_found.resize(count);
  scratch.cost.resize(count + 1);
  scratch.run.resize(count + 1);
  scratch.best.resize(count);
  scratch.cost[count] = 0;
  scratch.run[count] = 0;
  for (size_t at = count; at > 0;) {
    --at;
    scratch.first_found[at] = scratch.found.size();
    scratch.run[at] = at + 1 < count && is_same(at, at + 1) ? scratch.run[at + 1] + 1 : 1;
    // By itself, or with all that are like it behind it.
    const uint32_t token = token_of(at);
    const uint32_t alone = trees[at] == kNone ? kUnknownCost : cost_of_tree_[trees[at]];
    uint32_t least = alone + scratch.cost[at + 1];
    Piece best = {token, 1, static_cast<uint32_t>(at), 1};
    // The last of them may be the beginning of a token.
    const uint32_t run = token == kNone ? 1 : scratch.run[at];
    for (uint32_t times = run; times > 1 && times + 1 >= run; --times) {
      const uint32_t cost = 2 + scratch.cost[at + times];
      if (cost < least) {
        least = cost;
        best = {token, times, static_cast<uint32_t>(at), times};
      }
    }
    // As the beginning of siblings that are a token, once or often; not in the middle of equal
    // ones, which stand there for themselves.
    const bool is_in_run = at > 0 && scratch.run[at] > 1 && is_same(at - 1, at);
    const size_t last = is_in_run || scratch.found.size() > most_found ? at : count;
    uint32_t state = 0;
    Places joined;
    for (size_t end = at; end < last && trees[end] != kNone; ++end) {
      state = siblings_.Find(state, trees[end]);
      if (state == Transitions::kMissing) break;
      if (!places.empty()) {
        joined.Join(places[end]);
        if (joined.AreMany()) break;
      }
      const uint32_t found = token_of_siblings_[state];
      if (found >= below) continue;  // also where there is none
      const size_t length = end + 1 - at;
      // Once more than where it ends, if it begins again there.
      uint32_t times = 1;
      if (const size_t next = end + 1; next < count) {
        for (size_t k = scratch.first_found[next]; k < scratch.first_found[next - 1]; ++k) {
          if (scratch.found[k].token != found) continue;
          if (is_same_place(at, next, length)) times += scratch.found[k].times;
          break;
        }
      }
      scratch.found.push_back({found, times});
      const size_t behind = at + length * times;
      const uint32_t once = 1 + scratch.cost[end + 1];
      if (once < least) {
        least = once;
        best = {found, 1, static_cast<uint32_t>(at), static_cast<uint32_t>(length)};
      }
      if (times > 1 && 2 + scratch.cost[behind] < least) {
        least = 2 + scratch.cost[behind];
        best = {found, times, static_cast<uint32_t>(at), static_cast<uint32_t>(behind - at)};
      }
    }
    scratch.cost[at] = least;
    scratch.best[at] = best;
  }
  for (size_t at = 0; at < count; at += scratch.best[at].items) pieces.push_back(scratch.best[at]);
}

std::vector<Item> Grammar::Define(const TokenShape& shape, uint32_t below) const {
  struct Open {
    uint32_t tree;  // with children; or a piece that is a token
    Piece piece;
  };
  std::vector<Item> items;
  Scratch scratch;
  std::vector<Piece> pieces;
  std::vector<Open> open;
  const auto add_list = [&](std::span<const uint32_t> trees) {
    Parse(trees, {}, below, scratch, pieces);
    for (size_t i = pieces.size(); i > 0; --i) {
      open.push_back({trees[pieces[i - 1].first], pieces[i - 1]});
    }
    return static_cast<uint32_t>(pieces.size());
  };
  add_list(shape.trees);
  while (!open.empty()) {
    const Open top = open.back();
    open.pop_back();
    Item item;
    item.times = top.piece.times;
    if (top.piece.token != kNone) {
      item.token = top.piece.token;
      items.push_back(item);
      continue;
    }
    item.label = table_.Label(top.tree);
    item.children = add_list(table_.Children(top.tree));
    items.push_back(item);
  }
  return items;
}

Result<Grammar> Grammar::Make(const Vocabulary& vocabulary) {
  SubtreeTable table(vocabulary.labels.size());
  std::vector<TokenShape> shapes;
  std::vector<Expansion> expansions;
  uint64_t room = kMostExpandedEvents;
  if (vocabulary.tokens.size() < kFallbacks) return Fail("its first tokens must be the fallbacks");
  for (uint32_t token = 0; token < vocabulary.tokens.size(); ++token) {
    const Token& described = vocabulary.tokens[token];
    TokenShape shape;
    shape.kind = described.kind;
    Expansion expansion;
    if ((described.kind == TokenKind::kFallback) != (token < kFallbacks)) {
      return Fail("its first {} tokens, and only they, must be the fallbacks", kFallbacks);
    }
    if (described.kind != TokenKind::kFallback) {
      DefinitionReader reader(vocabulary, shapes, expansions, table);
      TELLTALE_ASSIGN(shape.trees, reader.Read(token, expansion, room));
      const bool is_one = shape.trees.size() == 1;
      const bool is_event = is_one && described.items.front().token == kNone &&
                            (described.kind != TokenKind::kSubtree || expansion.size() > 1);
      if (described.kind == TokenKind::kSiblings ? shape.trees.size() < 2 : !is_event) {
        return Fail("token {}: its kind does not fit its items", token);
      }
      if (described.kind == TokenKind::kLabel) {
        if (described.items.size() != 1) return Fail("token {}: a label is one event", token);
        shape.label = described.items.front().label;
        shape.trees.clear();
      }
      if (shape.trees.size() > kMostSiblings) return Fail("token {}: too many siblings", token);
    }
    shapes.push_back(std::move(shape));
    expansions.push_back(std::move(expansion));
  }
  Grammar grammar(std::move(table), std::move(shapes), vocabulary.labels.size());
  grammar.expansions_ = std::move(expansions);
  grammar.expanded_events_ = kMostExpandedEvents - room;
  return grammar;
}

}  // namespace telltale::tokens
