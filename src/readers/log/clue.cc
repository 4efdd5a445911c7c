#include "readers/log/clue.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

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

namespace {

// How common a byte is in messages, roughly.
int Commonness(char c) {
  if ((c >= 'a' && c <= 'z') || c == ' ') return 4;
  if (c >= '0' && c <= '9') return 3;
  return c == ':' || c == '.' || c == ',' || c == '_' ? 2 : 1;
}

size_t PairAt(std::string_view text, size_t at) {
  return static_cast<size_t>(static_cast<unsigned char>(text[at])) << 8 |
         static_cast<unsigned char>(text[at + 1]);
}

}  // namespace

ClueFinder::ClueFinder(std::span<const Clue> clues)
    : clues_(clues), first_(size_t{1} << 16, kNoCandidate) {
  for (size_t i = 0; i < clues.size(); ++i) {
    const std::string_view keyword = clues[i].keyword;
    if (keyword == kLibraryWarning) {
      of_warnings_ |= uint64_t{1} << i;
      continue;
    }
    size_t rarest = 0;
    for (size_t at = 1; at + 1 < keyword.size(); ++at) {
      const auto commonness = [&](size_t place) {
        return Commonness(keyword[place]) + Commonness(keyword[place + 1]);
      };
      if (commonness(at) < commonness(rarest)) rarest = at;
    }
    uint8_t& first = first_[PairAt(keyword, rarest)];
    candidates_.push_back({static_cast<uint8_t>(i), static_cast<uint8_t>(rarest), first});
    first = static_cast<uint8_t>(candidates_.size() - 1);
  }
}

void ClueFinder::Read(const ObservedLine& line, Observations& out) const {
  uint64_t found = line.is_warning_of_library ? of_warnings_ : 0;
  const std::string_view text = line.text;
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    for (uint8_t c = first_[PairAt(text, at)]; c != kNoCandidate; c = candidates_[c].next) {
      const Candidate& candidate = candidates_[c];
      if (at < candidate.offset) continue;
      if (text.substr(at - candidate.offset).starts_with(clues_[candidate.clue].keyword)) {
        found |= uint64_t{1} << candidate.clue;
      }
    }
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
