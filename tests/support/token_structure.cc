#include "tests/support/token_structure.h"

#include <algorithm>
#include <set>

namespace telltale::test {
namespace {

using tokens::CallTrees;
using tokens::Codec;
using tokens::Expansion;
using tokens::kNone;
using tokens::Label;
using tokens::Symbol;
using tokens::TokenKind;

bool IsEvent(TokenKind kind) { return kind == TokenKind::kFallback || kind == TokenKind::kLabel; }

std::string FaultOf(const Codec& codec, uint32_t token) {
  const TokenKind kind = codec.vocabulary().tokens[token].kind;
  const Expansion& expansion = codec.grammar().ExpansionOf(token);
  if (kind == TokenKind::kFallback) return expansion.size() == 0 ? "" : "a fallback with events";
  size_t tops = 0;
  std::vector<uint32_t> open;  // from a top to the last event
  for (uint32_t i = 0; i < expansion.size(); ++i) {
    const uint32_t parent = expansion.parent[i];
    while (!open.empty() && open.back() != parent) open.pop_back();
    if (parent == kNone) {
      ++tops;
    } else if (open.empty()) {
      return fmt::format("event {} does not follow its parent", i);
    }
    open.push_back(i);
    if (expansion.label[i] >= codec.vocabulary().labels.size()) return "no such label";
    if (expansion.slot[i] >= codec.vocabulary().slots.size()) return "no such slot";
  }
  if (kind == TokenKind::kSiblings) return tops >= 2 ? "" : "siblings that are not several";
  if (tops != 1) return fmt::format("{} events on top", tops);
  if (kind == TokenKind::kLabel && expansion.size() != 1) return "a label of several events";
  if (kind == TokenKind::kSubtree && expansion.size() < 2) return "a subtree of one event";
  return {};
}

class StepChecker {
 public:
  StepChecker(const Codec& codec, const CallTrees& trees, const tokens::EncodedSteps& encoded,
              size_t step, const std::vector<Symbol>& symbols)
      : codec_(codec),
        trees_(trees),
        encoded_(encoded),
        first_(trees.first[step]),
        count_(trees.first[step + 1] - first_),
        symbols_(symbols) {}

  std::string Fault() const {
    size_t next = 0;
    std::vector<uint32_t> children(symbols_.size());
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const Symbol& symbol = symbols_[i];
      if (symbol.first_node != next) return fmt::format("symbol {} does not follow", i);
      next += symbol.nodes;
      if (next > count_) return fmt::format("symbol {} leaves its step", i);
      const std::string fault = FaultOfSymbol(symbol);
      if (!fault.empty()) return fmt::format("symbol {}: {}", i, fault);
      if (symbol.parent != kNone) ++children[symbol.parent];
    }
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (children[i] != symbols_[i].children) return fmt::format("children of symbol {}", i);
    }
    return next == count_ ? "" : "events that no symbol stands for";
  }

 private:
  std::string FaultOfSymbol(const Symbol& symbol) const {
    std::set<uint32_t> threads, streams, communicators;
    const uint32_t above = symbol.parent == kNone ? kNone : symbols_[symbol.parent].first_node;
    const TokenKind kind = codec_.vocabulary().tokens[symbol.token].kind;
    const Expansion& expansion = codec_.grammar().ExpansionOf(symbol.token);
    const uint32_t events = IsEvent(kind) ? 1 : static_cast<uint32_t>(expansion.size());
    if (symbol.nodes != events * symbol.times) return "other events than its token has";
    for (uint32_t i = 0; i < symbol.nodes; ++i) {
      const size_t node = first_ + symbol.first_node + i;
      const uint32_t track = trees_.track[node];
      if (track != kNone) (trees_.tracks[track].is_stream ? streams : threads).insert(track);
      if (trees_.communicator[node] != kNone) communicators.insert(trees_.communicator[node]);
      const uint32_t parent = trees_.parent[node];
      const uint32_t begin = symbol.first_node + i / events * events;  // of this time
      const bool is_top = parent == kNone || parent < begin;
      if (is_top && parent != above) return "an event on top that is not under the same parent";
      if (IsEvent(kind)) {
        if (!IsLabelOf(symbol.label, node)) return "another label";
        continue;
      }
      const uint32_t expected = expansion.parent[i % events];
      if (is_top ? expected != kNone : parent != begin + expected) return "another parent";
      if (!IsLabelOf(expansion.label[i % events], node)) return "another label";
    }
    if (threads.size() > 1) return "several threads";
    if (streams.size() > 1) return "several streams";
    if (communicators.size() > 1) return "several communicators";
    const uint32_t depth = symbol.parent == kNone ? 0 : symbols_[symbol.parent].depth + 1;
    return symbol.depth == depth ? "" : "another depth";
  }

  bool IsLabelOf(uint32_t number, size_t node) const {
    const std::vector<Label>& known = codec_.vocabulary().labels;
    const Label& label =
        number < known.size() ? known[number] : encoded_.other_labels[number - known.size()];
    return label.kind == trees_.kind[node] && label.basis == trees_.basis[node];
  }

  const Codec& codec_;
  const CallTrees& trees_;
  const tokens::EncodedSteps& encoded_;
  const size_t first_, count_;
  const std::vector<Symbol>& symbols_;
};

}  // namespace

std::string FaultOfTokens(const Codec& codec) {
  for (uint32_t token = 0; token < codec.vocabulary().tokens.size(); ++token) {
    const std::string fault = FaultOf(codec, token);
    if (!fault.empty()) return fmt::format("token {}: {}", token, fault);
  }
  return {};
}

std::string FaultOfSymbols(const Codec& codec, const CallTrees& trees) {
  const tokens::EncodedSteps encoded = EncodeSteps(codec, trees, 1);
  for (size_t step = 0; step < trees.Steps(); ++step) {
    const auto symbols = SymbolsOf(codec, encoded, step);
    if (!symbols) return symbols.error().message;
    const std::string fault = StepChecker(codec, trees, encoded, step, *symbols).Fault();
    if (!fault.empty()) return fmt::format("step {}: {}", step, fault);
  }
  return {};
}

}  // namespace telltale::test
