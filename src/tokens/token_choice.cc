#include "tokens/token_choice.h"

#include <algorithm>

#include "tokens/call_trees.h"

namespace telltale::tokens {
namespace {

// So often a token does not fit where it could stand, because something in it is new. What lies
// within a token is worth this part of what it would be worth by itself.
constexpr double kNovelty = 0.02;
// Visits of symbols in all rounds together: what bounds the time.
constexpr double kMostVisits = 4e8;
// What is exchanged for another must be so much better, and nothing is taken in more often, or they
// would go back and forth.
constexpr double kWorthIt = 1.1;
constexpr uint8_t kMostTries = 3;

class Chooser {
 public:
  explicit Chooser(const SymbolGraph& graph)
      : graph_(graph),
        has_label_(graph.label_exposure.size()),
        has_symbol_(graph.size()),
        tries_(graph.size() + graph.label_exposure.size()),
        open_(graph.size()),
        cost_(graph.size()) {}

  TokenChoice Choose(size_t most) {
    // One at a time, if there are not too many: several may be in each other's way.
    const double visits = 2 * static_cast<double>(graph_.size() + graph_.parts.size() + 1);
    const size_t rounds = static_cast<size_t>(std::max(64.0, kMostVisits / visits));
    at_once_ = 4 * most / rounds + 1;
    for (size_t round = 0; round < rounds; ++round) {
      FindCosts();
      FindGains();
      if (!Change(most)) break;
    }
    TokenChoice choice;
    for (uint32_t i = 0; i < has_label_.size(); ++i) {
      if (has_label_[i]) choice.labels.push_back(i);
    }
    for (uint32_t i = 0; i < has_symbol_.size(); ++i) {
      if (has_symbol_[i]) choice.symbols.push_back(i);
    }
    return choice;
  }

 private:
  // A symbol, or behind the symbols a label.
  struct Gain {
    double gain;
    uint32_t candidate;
    bool operator<(const Gain& other) const {
      return gain != other.gain ? gain > other.gain : candidate < other.candidate;
    }
  };

  double LabelCost(uint32_t label) const { return has_label_[label] ? 1 : 2; }
  bool IsOneSymbol(uint32_t symbol) const { return cost_[symbol] == 1; }

  // Symbols that it takes to write each, without it and with it as a token.
  void FindCosts() {
    for (const uint32_t symbol : graph_.order) {
      double open = graph_.label[symbol] == kNone ? 0 : LabelCost(graph_.label[symbol]);
      for (size_t i = graph_.first[symbol]; i < graph_.first[symbol + 1]; ++i) {
        const uint32_t part = graph_.parts[i];
        const uint32_t times = graph_.times[symbol];
        open += times == 1 ? cost_[part] : IsOneSymbol(part) ? 2 : times * cost_[part];
      }
      open_[symbol] = open;
      cost_[symbol] = has_symbol_[symbol] ? 1 : open;
    }
  }

  void FindGains() {
    places_ = graph_.exposure;  // where it stands as things are
    if_open_ = graph_.exposure;
    as_token_ = graph_.exposure;
    label_exposure_ = graph_.label_exposure;
    gains_.clear();
    for (size_t i = graph_.order.size(); i > 0; --i) {
      const uint32_t symbol = graph_.order[i - 1];
      const bool is_token = has_symbol_[symbol];
      const double free = is_token ? places_[symbol] * kNovelty : places_[symbol];
      if (graph_.label[symbol] != kNone) {
        const bool is_leaf = graph_.first[symbol] == graph_.first[symbol + 1];
        label_exposure_[graph_.label[symbol]] += is_leaf ? if_open_[symbol] : free;
      }
      // Its definition needs the parts once.
      const double share = is_token ? free + 1 : free;
      const uint32_t times = graph_.times[symbol];
      for (size_t k = graph_.first[symbol]; k < graph_.first[symbol + 1]; ++k) {
        const uint32_t part = graph_.parts[k];
        places_[part] += times == 1 || IsOneSymbol(part) ? share : share * times;
        if_open_[part] += share * times;
        as_token_[part] += times == 1 ? share : 2 * share;
      }
      if (graph_.may_be_token[symbol]) {
        const double saved = if_open_[symbol] * open_[symbol] - as_token_[symbol];
        gains_.push_back({(1 - kNovelty) * saved - open_[symbol], symbol});
      }
    }
    const auto symbols = static_cast<uint32_t>(graph_.size());
    for (uint32_t label = 0; label < label_exposure_.size(); ++label) {
      gains_.push_back({label_exposure_[label], symbols + label});
    }
  }

  bool IsChosen(uint32_t candidate) const {
    return candidate < graph_.size() ? has_symbol_[candidate]
                                     : has_label_[candidate - graph_.size()];
  }
  void Set(uint32_t candidate, bool chosen) {
    if (chosen) ++tries_[candidate];
    if (candidate < graph_.size()) {
      has_symbol_[candidate] = chosen;
    } else {
      has_label_[candidate - graph_.size()] = chosen;
    }
  }

  // Takes out what costs more than it saves, takes in what saves, and exchanges the worst for the
  // best.
  bool Change(size_t most) {
    std::vector<Gain> others, ours;
    for (const Gain& gain : gains_) {
      if (IsChosen(gain.candidate)) {
        ours.push_back(gain);
      } else if (gain.gain > 0 && tries_[gain.candidate] < kMostTries) {
        others.push_back(gain);
      }
    }
    std::sort(others.begin(), others.end());
    std::sort(ours.begin(), ours.end());
    const size_t room = most - std::min(most, ours.size());
    const size_t added = std::min({others.size(), room, at_once_});
    for (size_t i = 0; i < added; ++i) Set(others[i].candidate, true);
    if (added > 0) return true;
    size_t changed = 0;
    for (; changed < std::min(ours.size(), at_once_); ++changed) {
      const Gain& worst = ours[ours.size() - 1 - changed];
      const bool is_exchanged =
          changed < others.size() && others[changed].gain > worst.gain * kWorthIt + 1;
      if (worst.gain > 0 && !is_exchanged) break;
      Set(worst.candidate, false);
      if (is_exchanged) Set(others[changed].candidate, true);
    }
    return changed > 0;
  }

  const SymbolGraph& graph_;
  std::vector<bool> has_label_, has_symbol_;
  size_t at_once_ = 1;
  std::vector<uint8_t> tries_;  // by candidate: so often it was taken in
  std::vector<double> open_, cost_;
  // By symbol: where it stands, where it would stand if it were no token, and the symbols that it
  // takes there if it is one. They differ in runs, which are a token and a number.
  std::vector<double> places_, if_open_, as_token_;
  std::vector<double> label_exposure_;
  std::vector<Gain> gains_;
};

}  // namespace

TokenChoice ChooseTokens(const SymbolGraph& graph, size_t most) {
  return Chooser(graph).Choose(most);
}

}  // namespace telltale::tokens
