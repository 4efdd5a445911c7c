#include "tokens/symbol_summary.h"

namespace telltale::tokens {
namespace {

class Summariser {
 public:
  Summariser(const Codec& codec, const EncodedSteps& steps, size_t step, const CallTrees& trees)
      : codec_(codec), steps_(steps), trees_(trees), first_(trees.first[step]) {}

  SymbolSummary Of(const Symbol& symbol) const {
    SymbolSummary summary;
    summary.start_ns = trees_.start_ns[first_ + symbol.first_node];
    const uint32_t parent = trees_.parent[first_ + symbol.first_node];
    for (uint32_t i = 0; i < symbol.nodes; ++i) {
      const size_t node = first_ + symbol.first_node + i;
      const int64_t duration_ns = std::max<int64_t>(trees_.duration_ns[node], 0);
      const EventKind kind = trees_.kind[node];
      if (trace::IsGpuWork(kind) && kind != EventKind::kSync) {
        summary.gpu_ns = Plus(summary.gpu_ns, duration_ns);
      }
      if (trees_.parent[node] == parent) {
        summary.duration_ns = Plus(summary.duration_ns, duration_ns);
      }
    }
    summary.expected_ns = ExpectedOf(symbol);
    summary.text = TextOf(symbol);
    return summary;
  }

 private:
  std::optional<int64_t> ExpectedOf(const Symbol& symbol) const {
    const std::vector<Slot>& slots = codec_.vocabulary().slots;
    int64_t once_ns = 0;
    if (symbol.label != kNone) {
      const uint32_t slot = codec_.SlotOfLabel(symbol.label);
      if (slot == kNone) return std::nullopt;
      once_ns = slots[slot].duration_ns;
    } else {
      const Expansion& expansion = codec_.grammar().ExpansionOf(symbol.token);
      for (size_t i = 0; i < expansion.size(); ++i) {
        if (expansion.parent[i] != kNone) continue;
        once_ns = Plus(once_ns, slots[expansion.slot[i]].duration_ns);
      }
    }
    return static_cast<int64_t>(static_cast<uint64_t>(once_ns) * symbol.times);
  }

  const std::string& LabelText(uint32_t label) const {
    const std::vector<Label>& known = codec_.vocabulary().labels;
    return label < known.size() ? known[label].text
                                : steps_.other_labels[label - known.size()].text;
  }

  std::string TextOf(const Symbol& symbol) const {
    if (symbol.label != kNone) return LabelText(symbol.label);
    const Expansion& expansion = codec_.grammar().ExpansionOf(symbol.token);
    const std::string& begin = LabelText(expansion.label.front());
    if (codec_.vocabulary().tokens[symbol.token].kind == TokenKind::kSubtree) return begin;
    size_t last = expansion.size() - 1;
    while (expansion.parent[last] != kNone) last = expansion.parent[last];
    return begin + " … " + LabelText(expansion.label[last]);
  }

  const Codec& codec_;
  const EncodedSteps& steps_;
  const CallTrees& trees_;
  const size_t first_;
};

}  // namespace

std::vector<SymbolSummary> Summarise(const Codec& codec, const EncodedSteps& steps, size_t step,
                                     const CallTrees& trees, const std::vector<Symbol>& symbols) {
  const Summariser summariser(codec, steps, step, trees);
  std::vector<SymbolSummary> summaries;
  summaries.reserve(symbols.size());
  for (const Symbol& symbol : symbols) summaries.push_back(summariser.Of(symbol));
  return summaries;
}

}  // namespace telltale::tokens
