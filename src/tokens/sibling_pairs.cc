#include "tokens/sibling_pairs.h"

#include <queue>
#include <unordered_map>

namespace telltale::tokens {
namespace {

class PairFinder {
 public:
  PairFinder(std::vector<SiblingList>& lists, uint32_t trees) : lists_(lists), trees_(trees) {}

  std::vector<PairSymbol> Find(size_t most) {
    for (uint32_t list = 0; list < lists_.size(); ++list) AddElements(list);
    for (uint32_t at = 0; at < elements_.size(); ++at) Count(at);
    while (pairs_.size() < most && !heap_.empty()) {
      const Candidate top = heap_.top();
      heap_.pop();
      Pair& pair = found_.at(top.key);
      if (pair.weight != top.weight) {
        if (pair.weight >= 2) heap_.push({pair.weight, top.key});
        continue;
      }
      if (pair.weight < 2) continue;
      Replace(top.key);
    }
    for (SiblingList& list : lists_) list.symbols.clear();
    for (uint32_t at = 0; at < elements_.size();) {
      std::vector<uint32_t>& symbols = lists_[elements_[at].list].symbols;
      const uint32_t symbol = elements_[at].symbol;
      uint32_t times = 1;
      uint32_t next = elements_[at].after;
      for (; next != kNone && symbol != kNone && IsSame(at, next); next = elements_[next].after) {
        ++times;
      }
      symbols.push_back(times > 1 ? RunOf(symbol, times) : symbol);
      if (next == kNone) {
        // The next list begins behind the last of this one that is still there.
        next = at + 1;
        while (next < elements_.size() && elements_[next].list == elements_[at].list) ++next;
      }
      at = next;
    }
    return std::move(pairs_);
  }

 private:
  static constexpr uint32_t kGone = kMany;

  struct Element {
    uint32_t symbol = kNone;
    uint32_t list = 0;
    uint32_t before = kNone, after = kNone;
    Places places;
  };
  struct Pair {
    uint64_t weight = 0;
    std::vector<uint32_t> at;  // elements on its left, some of them no longer
  };
  struct Candidate {
    uint64_t weight;
    uint64_t key;
    bool operator<(const Candidate& other) const {
      return weight != other.weight ? weight < other.weight : key > other.key;
    }
  };

  uint32_t AddSymbol(uint32_t left, uint32_t right, uint32_t times) {
    pairs_.push_back({left, right, times});
    return trees_ + static_cast<uint32_t>(pairs_.size() - 1);
  }

  uint32_t RunOf(uint32_t symbol, uint32_t times) {
    const auto [known, added] = runs_.try_emplace(uint64_t{symbol} << 32 | times, kNone);
    if (added) known->second = AddSymbol(symbol, kNone, times);
    return known->second;
  }

  bool IsSame(uint32_t one, uint32_t other) const {
    return elements_[one].symbol == elements_[other].symbol &&
           elements_[one].places == elements_[other].places;
  }

  // A list's elements, equal neighbours as one.
  void AddElements(uint32_t number) {
    const SiblingList& list = lists_[number];
    uint32_t last = kNone;
    for (size_t i = 0; i < list.symbols.size();) {
      const uint32_t symbol = list.symbols[i];
      const Places places = list.places.empty() ? Places() : list.places[i];
      size_t end = i + 1;
      while (symbol != kNone && end < list.symbols.size() && list.symbols[end] == symbol &&
             (list.places.empty() || list.places[end] == places)) {
        ++end;
      }
      const auto at = static_cast<uint32_t>(elements_.size());
      elements_.push_back({symbol, number, last, kNone, places});
      if (const size_t times = end - i; times > 1) {
        elements_[at].symbol = RunOf(symbol, static_cast<uint32_t>(times));
      }
      if (last != kNone) elements_[last].after = at;
      last = at;
      i = end;
    }
  }

  bool KeyAt(uint32_t at, uint64_t& key) const {
    const Element& left = elements_[at];
    if (left.symbol == kNone || left.symbol == kGone || left.after == kNone) return false;
    const Element& right = elements_[left.after];
    if (right.symbol == kNone || right.symbol == left.symbol) return false;
    Places joined = left.places;
    joined.Join(right.places);
    if (joined.AreMany()) return false;
    key = uint64_t{left.symbol} << 32 | right.symbol;
    return true;
  }

  void Count(uint32_t at) {
    uint64_t key = 0;
    if (!KeyAt(at, key)) return;
    Pair& pair = found_[key];
    pair.weight += lists_[elements_[at].list].weight;
    pair.at.push_back(at);
    if (pair.weight >= 2) heap_.push({pair.weight, key});
  }

  void Discount(uint32_t at) {
    uint64_t key = 0;
    if (at == kNone || !KeyAt(at, key)) return;
    found_[key].weight -= lists_[elements_[at].list].weight;
  }

  void Replace(uint64_t key) {
    const auto left = static_cast<uint32_t>(key >> 32);
    const auto right = static_cast<uint32_t>(key);
    const std::vector<uint32_t> places = std::move(found_[key].at);
    found_[key].at.clear();
    uint32_t symbol = kNone;
    for (const uint32_t at : places) {
      uint64_t now = 0;
      if (!KeyAt(at, now) || now != key) continue;
      if (symbol == kNone) symbol = AddSymbol(left, right, 1);
      const uint32_t behind = elements_[at].after;
      Discount(elements_[at].before);
      Discount(at);
      Discount(behind);
      elements_[at].symbol = symbol;
      elements_[at].places.Join(elements_[behind].places);
      elements_[at].after = elements_[behind].after;
      if (elements_[behind].after != kNone) elements_[elements_[behind].after].before = at;
      elements_[behind].symbol = kGone;
      if (elements_[at].before != kNone) Count(elements_[at].before);
      Count(at);
    }
  }

  std::vector<SiblingList>& lists_;
  const uint32_t trees_;
  std::vector<Element> elements_;
  std::vector<PairSymbol> pairs_;
  std::unordered_map<uint64_t, uint32_t> runs_;
  std::unordered_map<uint64_t, Pair> found_;
  std::priority_queue<Candidate> heap_;
};

}  // namespace

std::vector<PairSymbol> FindPairs(std::vector<SiblingList>& lists, uint32_t trees, size_t most) {
  return PairFinder(lists, trees).Find(most);
}

}  // namespace telltale::tokens
