#include "readers/log/template_text.h"

#include <string.h>

#include <algorithm>
#include <cstdint>

namespace telltale::log {

namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

size_t TrailingPunctuation(std::string_view token) {
  constexpr std::string_view kMarks = ",;:.!?)]}";
  size_t size = 0;
  while (size < token.size() && kMarks.find(token[token.size() - 1 - size]) != kMarks.npos) ++size;
  return size;
}

// A message with one space between tokens; `where` leads back, and is empty where nothing moved.
struct Spaced {
  std::string text;
  std::vector<size_t> where;
};

bool NeedsSpacing(std::string_view message) {
  bool after_space = true;
  for (const char c : message) {
    if (IsSpace(c) && (after_space || c != ' ')) return true;
    after_space = IsSpace(c);
  }
  return after_space && !message.empty();
}

Spaced SpaceOut(std::string_view message) {
  Spaced spaced;
  for (size_t i = 0; i < message.size(); ++i) {
    if (IsSpace(message[i])) {
      if (spaced.text.empty() || spaced.text.back() == ' ') continue;
      spaced.text += ' ';
    } else {
      spaced.text += message[i];
    }
    spaced.where.push_back(i);
  }
  if (!spaced.text.empty() && spaced.text.back() == ' ') {
    spaced.text.pop_back();
    spaced.where.pop_back();
  }
  return spaced;
}

struct Span {
  size_t begin = 0, end = 0;
};

// Where the wildcards lie in `text`. The first place for each piece of text is as good as any for
// what follows; the last piece stands at the end. memmem() takes linear time, unlike find().
bool FindWildcards(std::string_view pattern, std::string_view text, std::vector<Span>* spans) {
  size_t next = pattern.find(kWildcard);
  if (next == pattern.npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, next))) return false;
  size_t at = next;
  for (;;) {
    const size_t piece_begin = next + kWildcard.size();
    next = pattern.find(kWildcard, piece_begin);
    const std::string_view piece = pattern.substr(piece_begin, next - piece_begin);
    if (next == pattern.npos) {
      if (text.size() < at + piece.size() || !text.ends_with(piece)) return false;
      if (spans != nullptr) spans->push_back({at, text.size() - piece.size()});
      return true;
    }
    size_t found = at;
    if (!piece.empty()) {
      const void* const place =
          memmem(text.data() + at, text.size() - at, piece.data(), piece.size());
      if (place == nullptr) return false;
      found = static_cast<size_t>(static_cast<const char*>(place) - text.data());
    }
    if (spans != nullptr) spans->push_back({at, found});
    at = found + piece.size();
  }
}

}  // namespace

std::vector<std::string_view> TemplateParameters(std::string_view template_text,
                                                 std::string_view message) {
  Spaced spaced;
  const bool moved = NeedsSpacing(message);
  if (moved) spaced = SpaceOut(message);
  std::vector<Span> spans;
  std::vector<std::string_view> parameters;
  if (!FindWildcards(template_text, moved ? std::string_view(spaced.text) : message, &spans)) {
    return parameters;
  }
  for (const Span& span : spans) {
    if (span.begin == span.end) {
      parameters.push_back({});
      continue;
    }
    const size_t begin = moved ? spaced.where[span.begin] : span.begin;
    const size_t end = moved ? spaced.where[span.end - 1] + 1 : span.end;
    parameters.push_back(message.substr(begin, end - begin));
  }
  return parameters;
}

bool FitsTemplate(std::string_view template_text, std::string_view message) {
  if (!NeedsSpacing(message)) return FindWildcards(template_text, message, nullptr);
  return FindWildcards(template_text, SpaceOut(message).text, nullptr);
}

std::vector<std::string_view> SplitTokens(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end != at) tokens.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return tokens;
}

std::string JoinTokens(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    if (!text.empty()) text += ' ';
    text += token;
  }
  return text;
}

bool IsKey(std::string_view token) { return token.ends_with(':') || token.ends_with('='); }

bool LooksLikeValue(std::string_view token) {
  if (token.find(kWildcard) != token.npos) return true;
  if (IsKey(token)) return false;
  if (token.size() > 2 && token.front() == '(' && token.find(')') != token.npos) return true;
  token.remove_suffix(TrailingPunctuation(token));
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '/' || token[i] == '_' || token[i] == '=' || token[i] == '.') return true;
    if (i > 0 && IsUpper(token[i]) && IsLower(token[i - 1])) return true;
  }
  return false;
}

bool IsWord(std::string_view token) {
  return (IsKey(token) || !LooksLikeValue(token)) && token.find(kWildcard) == token.npos &&
         std::any_of(token.begin(), token.end(), [](char c) {
           return IsLower(c) || IsUpper(c) || static_cast<uint8_t>(c) >= 0x80;
         });
}

std::string WithoutValue(std::string_view token) {
  const size_t tail = TrailingPunctuation(token);
  const std::string_view body = token.substr(0, token.size() - tail);
  std::string out;
  size_t at = 0;
  for (size_t key = body.find('='); key != body.npos; key = body.find('=', at)) {
    out.append(body.substr(at, key + 1 - at)).append(kWildcard);
    at = std::min(body.find(',', key), body.size());
  }
  if (at == 0) {
    const size_t colon = body.rfind(':');
    out.append(body.substr(0, colon == body.npos ? 0 : colon + 1)).append(kWildcard);
    at = body.size();
  }
  return out.append(body.substr(at)).append(token.substr(token.size() - tail));
}

bool HasKey(std::string_view token) {
  const size_t key = token.find_first_of("=:");
  if (key == token.npos || key + 1 == token.size()) return false;
  const std::string_view name = token.substr(0, key);
  return name.find(kWildcard) == name.npos &&
         std::any_of(name.begin(), name.end(), [](char c) { return IsLower(c) || IsUpper(c); });
}

std::string CommonToken(std::string_view a, std::string_view b) {
  if (a == b) return std::string(a);
  const size_t shorter = std::min(a.size(), b.size());
  size_t head = 0, tail = 0;
  while (head < shorter && a[head] == b[head]) ++head;
  const size_t key = a.substr(0, head).find_last_of("=:([");
  head = key == a.npos ? 0 : key + 1;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const size_t mark = a.find_first_of("([,;:.!?)]}'\"%", a.size() - tail);
  tail = mark == a.npos ? 0 : a.size() - mark;
  return std::string(a.substr(0, head)).append(kWildcard).append(a.substr(a.size() - tail));
}

}  // namespace telltale::log
