#include "readers/log/template_merge.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <xxhash.h>

#include "readers/log/template_fields.h"
#include "readers/log/template_text.h"

namespace telltale::log {

namespace {

uint64_t HashOf(std::string_view text, uint64_t seed = 0) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

// What tells statements apart: words, and names of values.
bool Tells(std::string_view token) { return IsWord(token) || HasKey(token); }

size_t CountTelling(const std::vector<std::string_view>& tokens) {
  return static_cast<size_t>(std::count_if(tokens.begin(), tokens.end(), Tells));
}

// Sets of templates that are one statement's.
class Unions {
 public:
  explicit Unions(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }

  uint32_t Find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // The first one stands for all.
  void Unite(uint32_t a, uint32_t b) {
    a = Find(a);
    b = Find(b);
    if (a == b) return;
    parent_[std::max(a, b)] = std::min(a, b);
    ++changes_;
  }
  size_t changes() const { return changes_; }

 private:
  std::vector<uint32_t> parent_;
  size_t changes_ = 0;
};

// One round over templates that differ, in order.
class Round {
 public:
  explicit Round(const std::vector<std::string>& texts) : texts_(texts), unions_(texts.size()) {
    for (const std::string& text : texts) tokens_.push_back(SplitTokens(text));
  }

  // True where something was merged.
  bool Run() {
    UniteValues();
    UniteWords();
    UniteWordPairs();
    UniteTails();
    UniteFields(tokens_, [this](uint32_t a, uint32_t b) { unions_.Unite(a, b); });
    return unions_.changes() > 0;
  }

  uint32_t Find(uint32_t i) { return unions_.Find(i); }

 private:
  // Equal but for tokens that look like values.
  void UniteValues() {
    std::unordered_map<std::string, uint32_t> first;
    for (uint32_t i = 0; i < tokens_.size(); ++i) {
      if (CountTelling(tokens_[i]) == 0) continue;
      std::string key;
      for (const std::string_view token : tokens_[i]) {
        key += LooksLikeValue(token) ? WithoutValue(token) : std::string(token);
        key += ' ';
      }
      const auto [place, is_new] = first.emplace(std::move(key), i);
      if (!is_new) unions_.Unite(place->second, i);
    }
  }

  // A template without its tokens at some positions.
  struct Rest {
    uint64_t hash = 0;
    uint32_t text = 0;
    uint16_t first = 0, second = 0;  // positions; the same one twice where only one is left out
  };

  static constexpr uint64_t HashWithout(uint64_t sum, size_t first, size_t second) {
    return (sum ^ (first << 16 | second)) * 0x9e3779b97f4a7c15;
  }

  // A sum, so that tokens can be taken out.
  uint64_t SumOf(const std::vector<std::string_view>& tokens) const {
    uint64_t sum = HashOf("", tokens.size());
    for (size_t p = 0; p < tokens.size(); ++p) sum += HashOf(tokens[p], p);
    return sum;
  }

  // Unites those with equal rests, where is_value(group) says so.
  template <typename IsValue>
  void UniteEqual(std::vector<Rest>& rests, const IsValue& is_value) {
    std::sort(rests.begin(), rests.end(), [](const Rest& a, const Rest& b) {
      return std::pair(a.hash, a.text) < std::pair(b.hash, b.text);
    });
    for (size_t begin = 0, end = 0; begin < rests.size(); begin = end) {
      while (end < rests.size() && rests[end].hash == rests[begin].hash) ++end;
      const std::span<const Rest> group(&rests[begin], end - begin);
      if (group.size() < 2 || !is_value(group)) continue;
      for (const Rest& rest : group) unions_.Unite(group.front().text, rest.text);
    }
  }

  // Equal but for one token.
  void UniteWords() {
    std::vector<Rest> rests;
    for (uint32_t i = 0; i < tokens_.size(); ++i) {
      const uint64_t sum = SumOf(tokens_[i]);
      const size_t size = std::min<size_t>(tokens_[i].size(), UINT16_MAX);
      for (uint16_t p = 0; p < size; ++p) {
        rests.push_back({HashWithout(sum - HashOf(tokens_[i][p], p), p, p), i, p, p});
      }
    }
    UniteEqual(rests, [this](std::span<const Rest> group) { return IsValue(group); });
  }

  bool LooksLikeValues(std::span<const Rest> group, uint16_t position) const {
    return std::any_of(group.begin(), group.end(), [&](const Rest& rest) {
      return LooksLikeValue(tokens_[rest.text][position]);
    });
  }

  bool IsValue(std::span<const Rest> group) const {
    const std::vector<std::string_view>& example = tokens_[group.front().text];
    const uint16_t position = group.front().first;
    size_t telling = CountTelling(example) - (Tells(example[position]) ? 1 : 0);
    if (telling == 0) return false;
    if (LooksLikeValues(group, position)) return true;
    if (position > 0 && IsKey(example[position - 1]) && telling >= 2) return true;
    // What a sentence begins with says what it is about.
    if (position == 0) --telling;
    if (telling >= 3) return group.size() >= 3;
    return group.size() >= (telling == 2 ? 4 : 6);
  }

  // Equal but for two tokens behind the first one, in long sentences of a log that has not too
  // many.
  void UniteWordPairs() {
    constexpr size_t kMaxTexts = 4096;
    constexpr size_t kMaxTokens = 32;
    constexpr size_t kMinTelling = 4;
    if (tokens_.size() > kMaxTexts) return;
    std::vector<Rest> rests;
    for (uint32_t i = 0; i < tokens_.size(); ++i) {
      const std::vector<std::string_view>& tokens = tokens_[i];
      if (tokens.size() > kMaxTokens) continue;
      const size_t telling = CountTelling(tokens);
      const uint64_t sum = SumOf(tokens);
      for (uint16_t p = 1; p < tokens.size(); ++p) {
        for (uint16_t q = static_cast<uint16_t>(p + 1); q < tokens.size(); ++q) {
          const size_t without = (Tells(tokens[p]) ? 1u : 0u) + (Tells(tokens[q]) ? 1u : 0u);
          if (telling < kMinTelling + without) continue;
          const uint64_t rest = sum - HashOf(tokens[p], p) - HashOf(tokens[q], q);
          rests.push_back({HashWithout(rest, p, q), i, p, q});
        }
      }
    }
    UniteEqual(rests, [this](std::span<const Rest> group) {
      return HasValues(group, group.front().first) && HasValues(group, group.front().second);
    });
  }

  // At least three words, or two tokens one of which looks like a value.
  bool HasValues(std::span<const Rest> group, uint16_t position) const {
    std::vector<std::string_view> tokens;
    for (const Rest& rest : group) tokens.push_back(tokens_[rest.text][position]);
    std::sort(tokens.begin(), tokens.end());
    const auto end = std::unique(tokens.begin(), tokens.end());
    const ptrdiff_t different = end - tokens.begin();
    return different >= 3 || (different == 2 && LooksLikeValues(group, position));
  }

  // "Call to <*> failed : No space left on device": any words behind the same head.
  void UniteTails() {
    std::unordered_map<std::string, std::vector<uint32_t>> by_head;
    for (uint32_t i = 0; i < tokens_.size(); ++i) {
      const std::vector<std::string_view>& tokens = tokens_[i];
      size_t colon = tokens.size();
      for (size_t p = tokens.size(); p-- > 0;) {
        if (tokens[p].ends_with(':')) colon = p;
        if (tokens[p].ends_with(':') || tokens[p].find(kWildcard) != kWildcard.npos) break;
      }
      if (colon + 1 >= tokens.size()) continue;
      const size_t words = static_cast<size_t>(std::count_if(
          tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(colon) + 1, IsWord));
      if (words < 3) continue;
      const char* const end = tokens[colon].data() + tokens[colon].size();
      by_head[std::string(texts_[i].data(), end)].push_back(i);
    }
    for (const auto& [head, members] : by_head) {
      for (const uint32_t i : members) unions_.Unite(members.front(), i);
    }
  }

  const std::vector<std::string>& texts_;
  std::vector<std::vector<std::string_view>> tokens_;
  Unions unions_;
};

}  // namespace

MergedTemplates MergeTemplates(std::span<const std::string> given) {
  std::vector<std::string> texts(given.begin(), given.end());
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  const std::vector<std::string> sorted = texts;
  std::vector<uint32_t> group_of(texts.size());
  std::iota(group_of.begin(), group_of.end(), 0);

  // What was merged may make others alike. Each round has fewer texts than the one before.
  constexpr int kMaxRounds = 16;
  for (int i = 0; i < kMaxRounds; ++i) {
    Round round(texts);
    if (!round.Run()) break;
    std::vector<std::string> merged(texts.size());
    for (uint32_t t = 0; t < texts.size(); ++t) {
      // The first of each set comes first, and stands for it.
      const uint32_t first = round.Find(t);
      merged[first] = first == t ? texts[t] : CommonTemplate(merged[first], texts[t]);
    }
    std::vector<std::string> next;
    for (uint32_t t = 0; t < texts.size(); ++t) {
      if (round.Find(t) == t) next.push_back(merged[t]);
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    for (uint32_t& group : group_of) {
      const std::string& text = merged[round.Find(group)];
      group =
          static_cast<uint32_t>(std::lower_bound(next.begin(), next.end(), text) - next.begin());
    }
    texts = std::move(next);
  }

  MergedTemplates result;
  for (const std::string& text : given) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), text);
    result.groups.push_back(group_of[static_cast<size_t>(place - sorted.begin())]);
  }
  result.texts = std::move(texts);
  return result;
}

}  // namespace telltale::log
