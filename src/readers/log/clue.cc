#include "readers/log/clue.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <deque>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/text.h"

namespace telltale::log {

std::string_view SeverityName(Severity severity) {
  static constexpr std::array<std::string_view, 4> kNames = {"info", "warning", "error", "fatal"};
  return kNames[static_cast<size_t>(severity)];
}

void Fields::Name(std::string_view name) {
  json_ += json_.empty() ? '{' : ',';
  AppendJsonString(json_, name);
  json_ += ':';
}

Fields& Fields::Text(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  Name(name);
  AppendJsonString(json_, value);
  return *this;
}

Fields& Fields::Number(std::string_view name, std::optional<int64_t> value) {
  if (!value) return *this;
  Name(name);
  json_ += std::to_string(*value);
  return *this;
}

Fields& Fields::Real(std::string_view name, std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return *this;
  Name(name);
  json_ += fmt::format("{}", *value);
  return *this;
}

Fields& Fields::Json(std::string_view name, std::string_view json) {
  Name(name);
  json_ += json;
  return *this;
}

std::string Fields::Finish() const { return json_.empty() ? "{}" : json_ + '}'; }

ClueFinder::ClueFinder(std::span<const Clue> clues) : clues_(clues) {
  next_.push_back({});
  found_.push_back(0);
  for (size_t i = 0; i < clues.size(); ++i) {
    State state = 0;
    for (const char c : clues[i].keyword) {
      State& next = next_[state][static_cast<unsigned char>(c)];
      if (next == 0) {
        next = static_cast<State>(next_.size());
        // The reference to an element of next_ must not be used behind this.
        const State made = next;
        next_.push_back({});
        found_.push_back(0);
        state = made;
      } else {
        state = next;
      }
    }
    found_[state] |= uint64_t{1} << i;
  }
  // What the longest suffix that also begins a keyword leads to, level by level.
  std::vector<State> suffix(next_.size());
  std::deque<State> waiting;
  for (const State child : next_[0]) {
    if (child != 0) waiting.push_back(child);
  }
  while (!waiting.empty()) {
    const State state = waiting.front();
    waiting.pop_front();
    found_[state] |= found_[suffix[state]];
    for (size_t byte = 0; byte < 256; ++byte) {
      State& child = next_[state][byte];
      const State otherwise = next_[suffix[state]][byte];
      if (child == 0) {
        child = otherwise;
      } else {
        suffix[child] = otherwise;
        waiting.push_back(child);
      }
    }
  }
}

void ClueFinder::Read(const ObservedLine& line, Observations& out) const {
  uint64_t found = 0;
  State state = 0;
  for (const char c : line.whole) {
    state = next_[state][static_cast<unsigned char>(c)];
    found |= found_[state];
  }
  for (; found != 0; found &= found - 1) {
    clues_[static_cast<size_t>(std::countr_zero(found))].read(line, out);
  }
}

std::string_view Between(std::string_view text, std::string_view before, std::string_view ends) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find_first_of(ends));
}

std::optional<int64_t> NumberAfter(std::string_view text, std::string_view before) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::string digits;
  constexpr size_t kMostDigits = 20;
  for (size_t i = 0; i < text.size() && digits.size() < kMostDigits; ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (is_digit || (i == 0 && text[i] == '-')) {
      digits += text[i];
    } else if (text[i] != ',' || digits.empty() || i + 1 == text.size() || text[i + 1] < '0' ||
               text[i + 1] > '9') {
      break;
    }
  }
  return NumberOf<int64_t>(digits);
}

std::optional<double> RealAfter(std::string_view text, std::string_view before) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  while (text.starts_with(' ')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<int64_t> BytesAfter(std::string_view text, std::string_view before) {
  const auto value = RealAfter(text, before);
  if (!value) return std::nullopt;
  text.remove_prefix(text.find(before) + before.size());
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" 0123456789.")));
  double unit = 1;
  for (const auto& [name, bytes] :
       {std::pair("KiB", 1024.0), std::pair("MiB", 1024.0 * 1024),
        std::pair("GiB", 1024.0 * 1024 * 1024), std::pair("TiB", 1024.0 * 1024 * 1024 * 1024)}) {
    if (text.starts_with(name)) unit = bytes;
  }
  const double bytes = *value * unit;
  if (!(bytes >= 0 && bytes < 9e18)) return std::nullopt;
  return static_cast<int64_t>(std::llround(bytes));
}

}  // namespace telltale::log
