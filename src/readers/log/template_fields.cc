#include "readers/log/template_fields.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "readers/log/template_text.h"

namespace telltale::log {

namespace {

// Beyond these, templates with one beginning are compared with the first of them only.
constexpr size_t kMaxOfBeginning = 64;

bool HasWildcard(std::string_view text) { return text.find(kWildcard) != text.npos; }

// Without their commas. A wildcard behind a comma (",<*>") is no field's: it stands for fields.
std::vector<std::string> FieldsOf(const std::vector<std::string_view>& tokens) {
  std::vector<std::string> fields(1);
  for (std::string_view token : tokens) {
    const size_t missing = token.rfind(",<*>");
    const bool ends = token.ends_with(',') || missing != token.npos;
    if (missing != token.npos)
      token = token.substr(0, missing);
    else if (ends)
      token.remove_suffix(1);
    if (!fields.back().empty()) fields.back() += ' ';
    fields.back() += token;
    if (ends) fields.emplace_back();
  }
  if (fields.back().empty()) fields.pop_back();
  // Fields at the end that may be missing.
  if (fields.size() > 1 && fields.back().ends_with(kWildcard)) {
    std::string& last = fields.back();
    const std::string_view head(last.data(), last.size() - kWildcard.size());
    if (HasWildcard(head) && !head.ends_with(' ')) last.resize(head.size());
  }
  return fields;
}

// "Preemptions: <*>", "tps=<*>": what is no sentence.
bool HasName(std::string_view field) {
  std::string_view key = field.substr(0, field.find(kWildcard));
  if (key.size() == field.size()) return false;
  while (key.ends_with(' ') || key.ends_with('[')) key.remove_suffix(1);
  return key.ends_with(':') || key.ends_with('=');
}

// True where both have most fields, in the same order, and the others have keys and values.
bool DifferInFields(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.size() < 2 || b.size() < 2) return false;
  size_t common = 0, at = 0;
  for (const std::string& field : a) {
    const auto from = b.begin() + static_cast<ptrdiff_t>(at);
    const auto found = std::find(from, b.end(), field);
    if (found == b.end()) {
      if (!HasName(field)) return false;
      continue;
    }
    if (!std::all_of(from, found, HasName)) return false;
    ++common;
    at = static_cast<size_t>(found - b.begin()) + 1;
  }
  if (!std::all_of(b.begin() + static_cast<ptrdiff_t>(at), b.end(), HasName)) return false;
  return common >= 2 && common * 2 > std::max(a.size(), b.size());
}

}  // namespace

void UniteFields(const std::vector<std::vector<std::string_view>>& templates,
                 const std::function<void(uint32_t, uint32_t)>& unite) {
  struct Member {
    uint32_t number = 0;
    std::vector<std::string> fields;
  };
  std::unordered_map<std::string, std::vector<Member>> by_first;
  for (uint32_t i = 0; i < templates.size(); ++i) {
    std::vector<std::string> fields = FieldsOf(templates[i]);
    if (fields.size() < 2) continue;
    std::string first = fields.front();
    by_first[std::move(first)].push_back({i, std::move(fields)});
  }
  for (const auto& [first, members] : by_first) {
    for (size_t i = 0; i < members.size(); ++i) {
      for (size_t j = 0; j < std::min(i, kMaxOfBeginning); ++j) {
        if (DifferInFields(members[i].fields, members[j].fields)) {
          unite(members[i].number, members[j].number);
        }
      }
    }
  }
}

namespace {

// Text without marks of a gap that merging has left, nor a comma: a field at the end has none.
std::string_view Bare(std::string_view token) {
  if (token.ends_with(",<*>"))
    token.remove_suffix(4);
  else if (token.ends_with(','))
    token.remove_suffix(1);
  else if (token.ends_with("<*><*>") || token.ends_with("%<*>"))
    token.remove_suffix(3);
  return token;
}

// A longest common subsequence, as pairs of positions.
std::vector<std::pair<size_t, size_t>> CommonPositions(const std::vector<std::string_view>& x,
                                                       const std::vector<std::string_view>& y) {
  // What is longer than this between equal ends counts as different.
  constexpr size_t kMaxCells = size_t{1} << 14;
  const auto same = [&](size_t i, size_t j) { return Bare(x[i]) == Bare(y[j]); };
  std::vector<std::pair<size_t, size_t>> pairs;
  size_t head = 0, tail = 0;
  const size_t shorter = std::min(x.size(), y.size());
  while (head < shorter && same(head, head)) {
    pairs.emplace_back(head, head);
    ++head;
  }
  while (tail < shorter - head && same(x.size() - 1 - tail, y.size() - 1 - tail)) ++tail;
  const size_t x_end = x.size() - tail, y_end = y.size() - tail;
  const size_t width = y_end - head + 1;
  if ((x_end - head + 1) * width <= kMaxCells) {
    std::vector<uint32_t> length((x_end - head + 1) * width, 0);
    const auto at = [&](size_t i, size_t j) -> uint32_t& {
      return length[(i - head) * width + (j - head)];
    };
    for (size_t i = x_end; i-- > head;) {
      for (size_t j = y_end; j-- > head;) {
        at(i, j) = same(i, j) ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
    for (size_t i = head, j = head; i < x_end && j < y_end;) {
      if (same(i, j))
        pairs.emplace_back(i++, j++);
      else if (at(i + 1, j) >= at(i, j + 1))
        ++i;
      else
        ++j;
    }
  }
  for (; tail > 0; --tail) pairs.emplace_back(x.size() - tail, y.size() - tail);
  return pairs;
}

// With their commas.
std::vector<std::string_view> SplitFields(std::string_view text) {
  std::vector<std::string_view> fields;
  size_t begin = 0;
  for (size_t at = text.find(' '); at != text.npos; at = text.find(' ', at + 1)) {
    const std::string_view field = text.substr(begin, at - begin);
    if (!field.ends_with(',') && !field.ends_with(",<*>")) continue;
    fields.push_back(field);
    begin = at + 1;
  }
  fields.push_back(text.substr(begin));
  return fields;
}

}  // namespace

std::string CommonTemplate(std::string_view a, std::string_view b) {
  if (a == b) return std::string(a);
  std::vector<std::string_view> x = SplitTokens(a), y = SplitTokens(b);
  std::vector<std::string> tokens;
  std::vector<std::pair<size_t, size_t>> pairs = CommonPositions(x, y);
  const bool in_place = std::all_of(pairs.begin(), pairs.end(),
                                    [](const auto& pair) { return pair.first == pair.second; });
  if (x.size() == y.size() && in_place) {
    for (size_t i = 0; i < x.size(); ++i) tokens.push_back(CommonToken(x[i], y[i]));
    return JoinTokens(tokens);
  }
  // Whole fields, where there are some in common, so that no gap begins within one.
  const std::vector<std::string_view> x_fields = SplitFields(a), y_fields = SplitFields(b);
  const std::vector<std::pair<size_t, size_t>> field_pairs = CommonPositions(x_fields, y_fields);
  if (field_pairs.size() > 1) {
    x = x_fields;
    y = y_fields;
    pairs = field_pairs;
  }
  // What both have a text for is a value; what only one has is a gap.
  const auto leave_gap = [&](bool in_both = false) {
    if (!tokens.empty() && tokens.back().ends_with(kWildcard)) return;
    if (tokens.empty() || in_both) tokens.emplace_back();
    tokens.back() += kWildcard;
  };
  size_t i = 0, j = 0;
  for (const auto& [p, q] : pairs) {
    if (p != i || q != j) leave_gap(p != i && q != j);
    // Of "7%" and "7%," the first is common.
    const auto differ = std::mismatch(x[p].begin(), x[p].end(), y[q].begin(), y[q].end()).first;
    tokens.emplace_back(x[p].begin(), differ);
    if (x[p] != y[q]) leave_gap();
    i = p + 1;
    j = q + 1;
  }
  if (i < x.size() || j < y.size()) leave_gap(i < x.size() && j < y.size());
  return JoinTokens(tokens);
}

}  // namespace telltale::log
