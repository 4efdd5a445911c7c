#include "readers/log/template_miner.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "readers/log/template_masks.h"
#include "readers/log/template_text.h"
#include "readers/log/template_tree.h"

namespace telltale::log {

namespace {

// Forms by hash. 128 bits are compared and no text: two forms that meet by chance would share a
// template, once in 2^100 pairs.
class KnownForms {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Forms of groups with a shared template are many, and need not all be known.
  static constexpr size_t kMaxForms = size_t{1} << 18;

  KnownForms() : slots_(1024) {}

  uint32_t Find(XXH128_hash_t hash) const {
    for (size_t at = hash.low64 & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.number == kNone) return kNone;
      if (slot.low == hash.low64 && slot.high == hash.high64) return slot.number;
    }
  }

  void Add(XXH128_hash_t hash, uint32_t number) {
    if (count_ >= kMaxForms) return;
    if (++count_ * 2 > slots_.size()) Grow();
    Put({hash.low64, hash.high64, number});
  }

 private:
  struct Slot {
    uint64_t low = 0, high = 0;
    uint32_t number = kNone;
  };

  void Put(const Slot& slot) {
    size_t at = slot.low & (slots_.size() - 1);
    while (slots_[at].number != kNone) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != kNone) Put(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

XXH128_hash_t HashOf(std::string_view form) { return XXH3_128bits(form.data(), form.size()); }

bool HasWildcard(std::string_view token) { return token.find(kWildcard) != token.npos; }

// Token by token, so that no wildcard reaches over a space, unless a field may be missing.
bool FitsForm(std::string_view text, std::string_view form) {
  const std::vector<std::string_view> pattern = SplitTokens(text);
  const std::vector<std::string_view> tokens = SplitTokens(form);
  if (pattern.size() != tokens.size()) {
    const bool may_lack_fields = std::any_of(pattern.begin(), pattern.end(), [](auto token) {
      return token.size() > kWildcard.size() && token.ends_with(kWildcard);
    });
    return (may_lack_fields || text.ends_with(kWildcard)) && FitsTemplate(text, form);
  }
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (!FitsTemplate(pattern[i], tokens[i])) return false;
  }
  return true;
}

}  // namespace

struct TemplateMiner::State {
  struct Entry {
    std::string text;
    uint64_t lines = 0;
  };

  explicit State(TemplateOptions given) : options(given), masker(given.max_tokens), tree(given) {
    options.max_templates = std::clamp<size_t>(options.max_templates, 1, UINT32_MAX - 1);
  }

  bool HasRoom(size_t bytes) const {
    return entries.size() + 1 < options.max_templates && text_bytes + bytes <= kMaxTextBytes;
  }

  uint32_t NewEntry(std::string_view text) {
    text_bytes += text.size();
    entries.push_back({std::string(text), 0});
    return static_cast<uint32_t>(entries.size() - 1);
  }

  uint32_t Rest() {
    if (!rest) rest = NewEntry(kWildcard);
    return *rest;
  }

  // A template kept earlier that fits a form: the one with most text of its own.
  std::optional<uint32_t> FindKept(std::string_view form) const {
    std::optional<uint32_t> best;
    size_t most = 0;
    const auto look = [&](std::string_view first) {
      const auto found = kept.find(std::string(first));
      if (found == kept.end()) return;
      for (const uint32_t number : found->second) {
        const std::string& text = entries[number].text;
        if (best && text.size() <= most) continue;
        if (!FitsForm(text, form)) continue;
        best = number;
        most = text.size();
      }
    };
    if (kept.empty()) return best;
    look(form.substr(0, form.find(' ')));
    look(kWildcard);
    return best;
  }

  uint32_t Learn(std::string_view form, XXH128_hash_t hash) {
    const std::optional<uint32_t> fitting = FindKept(form);
    const uint32_t number = fitting ? *fitting : LearnInTree(form);
    forms.Add(hash, number);
    return number;
  }

  uint32_t LearnInTree(std::string_view form) {
    const std::vector<std::string_view> tokens = SplitTokens(form);
    TemplateGroup* group = tree.Find(tokens);
    if (group == nullptr) {
      if (!HasRoom(form.size())) return Rest();
      group = tree.AddGroup(tokens);
      if (group == nullptr) return Rest();
    } else if (group->shared || group->forms >= kFormsOfGroup) {
      return Share(*group, tokens);
    } else {
      if (!HasRoom(form.size())) return Rest();
      Widen(*group, tokens);
    }
    ++group->forms;
    return NewEntry(form);
  }

  void Widen(TemplateGroup& group, const std::vector<std::string_view>& tokens) const {
    for (size_t i = 0; i < tokens.size(); ++i) {
      group.tokens[i] = CommonToken(group.tokens[i], tokens[i]);
    }
  }

  uint32_t Share(TemplateGroup& group, const std::vector<std::string_view>& tokens) {
    Widen(group, tokens);
    const std::string text = JoinTokens(group.tokens);
    if (!group.shared) {
      if (!HasRoom(text.size())) return Rest();
      group.shared = NewEntry(text);
    }
    std::string& shared_text = entries[*group.shared].text;
    text_bytes = text_bytes + text.size() - shared_text.size();
    shared_text = text;
    return *group.shared;
  }

  std::optional<uint32_t> MatchInTree(std::string_view form) {
    const std::vector<std::string_view> tokens = SplitTokens(form);
    const TemplateGroup* const group = tree.Find(tokens);
    if (group == nullptr || !group->shared) return std::nullopt;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (CommonToken(group->tokens[i], tokens[i]) != group->tokens[i]) return std::nullopt;
    }
    return group->shared;
  }

  TemplateOptions options;
  Masker masker;
  KnownForms forms;
  TemplateTree tree;
  std::vector<Entry> entries;
  size_t text_bytes = 0;
  std::optional<uint32_t> rest;  // the template of what there is no room for
  // Templates kept earlier, by their first token, or by the wildcard where that has one.
  std::unordered_map<std::string, std::vector<uint32_t>> kept;
};

TemplateMiner::TemplateMiner(TemplateOptions options) : state_(std::make_unique<State>(options)) {}
TemplateMiner::TemplateMiner(TemplateMiner&&) noexcept = default;
TemplateMiner& TemplateMiner::operator=(TemplateMiner&&) noexcept = default;
TemplateMiner::~TemplateMiner() = default;

uint32_t TemplateMiner::Add(std::string_view message) {
  const std::string_view form = state_->masker.Mask(message);
  const XXH128_hash_t hash = HashOf(form);
  uint32_t number = state_->forms.Find(hash);
  if (number == KnownForms::kNone) number = state_->Learn(form, hash);
  ++state_->entries[number].lines;
  return number;
}

std::optional<uint32_t> TemplateMiner::Match(std::string_view message) const {
  const std::string_view form = state_->masker.Mask(message);
  const uint32_t number = state_->forms.Find(HashOf(form));
  if (number != KnownForms::kNone) return number;
  if (const auto fitting = state_->FindKept(form)) return fitting;
  return state_->MatchInTree(form);
}

uint32_t TemplateMiner::AddTemplate(std::string_view text, uint64_t lines) {
  constexpr size_t kMaxOfToken = 256;
  const XXH128_hash_t hash = HashOf(text);
  uint32_t number = state_->forms.Find(hash);
  if (number == KnownForms::kNone || state_->entries[number].text != text) {
    std::string first(text.substr(0, text.find(' ')));
    if (HasWildcard(first)) first = kWildcard;
    std::vector<uint32_t>& siblings = state_->kept[first];
    if (text == kWildcard) {
      number = state_->Rest();
      state_->forms.Add(hash, number);
    } else if (!state_->HasRoom(text.size()) || siblings.size() >= kMaxOfToken) {
      number = state_->Rest();
    } else {
      number = state_->NewEntry(text);
      siblings.push_back(number);
      state_->forms.Add(hash, number);
    }
  }
  state_->entries[number].lines += lines;
  return number;
}

size_t TemplateMiner::size() const { return state_->entries.size(); }
std::string TemplateMiner::Text(uint32_t number) const { return state_->entries.at(number).text; }
uint64_t TemplateMiner::lines(uint32_t number) const { return state_->entries.at(number).lines; }

}  // namespace telltale::log
