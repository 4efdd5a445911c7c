#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "readers/prometheus/exposition_parser.h"

namespace telltale::prometheus {
namespace {

bool IsBlank(char character) { return character == ' ' || character == '\t'; }

bool IsNameByte(char character, bool is_first) {
  const bool is_letter = (character >= 'a' && character <= 'z') ||
                         (character >= 'A' && character <= 'Z') || character == '_' ||
                         character == ':';
  return is_letter || (!is_first && character >= '0' && character <= '9');
}

// What is left of a line, from the front.
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(text) {}

  bool IsEmpty() const { return text_.empty(); }
  void SkipBlank() {
    while (!text_.empty() && IsBlank(text_.front())) text_.remove_prefix(1);
  }
  bool Take(char mark) {
    if (text_.empty() || text_.front() != mark) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string_view TakeName() {
    size_t size = 0;
    while (size < text_.size() && IsNameByte(text_[size], size == 0)) ++size;
    return TakeBytes(size);
  }
  std::string_view TakeWord() {
    size_t size = 0;
    while (size < text_.size() && !IsBlank(text_[size])) ++size;
    return TakeBytes(size);
  }
  bool IsAt(char mark) const { return text_.starts_with(mark); }

  // Between quotes, with \\, \" and \n; other backslashes stand for themselves.
  bool TakeQuoted(std::string& value) {
    value.clear();
    if (!Take('"')) return false;
    while (true) {
      size_t plain = 0;
      while (plain < text_.size() && text_[plain] != '"' && text_[plain] != '\\') ++plain;
      value += TakeBytes(plain);
      if (text_.empty()) return false;
      if (Take('"')) return true;
      const char escaped = text_.size() > 1 ? text_[1] : '\0';
      if (escaped == '\\' || escaped == '"') {
        value += escaped;
      } else if (escaped == 'n') {
        value += '\n';
      } else {
        value += '\\';
        text_.remove_prefix(1);
        continue;
      }
      text_.remove_prefix(2);
    }
  }

 private:
  std::string_view TakeBytes(size_t size) {
    const std::string_view taken = text_.substr(0, size);
    text_.remove_prefix(size);
    return taken;
  }
  std::string_view text_;
};

std::optional<double> ReadValue(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  if (word.starts_with('+') || word.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size()) return std::nullopt;
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  // Beyond what a double holds: of a small exponent nothing is left, of a large one infinity.
  const bool is_small = word.find("e-") != std::string_view::npos ||
                        word.find("E-") != std::string_view::npos ||
                        word.find_first_of("eE") == std::string_view::npos;
  if (is_small) return 0.0;
  const double infinity = std::numeric_limits<double>::infinity();
  return word.starts_with('-') ? -infinity : infinity;
}

// Whole milliseconds (0.0.4) or seconds, perhaps with a fraction (OpenMetrics). A whole number of
// milliseconds so small would be before 1973, so it is seconds.
std::optional<int64_t> ReadTime(std::string_view word) {
  constexpr int64_t kFirstMilliseconds = 100'000'000'000;
  constexpr int64_t kMostSeconds = 9'000'000'000;
  constexpr int64_t kNanosecondsEach = 1'000'000'000;
  constexpr size_t kDigits = 9;
  const size_t point = std::min(word.find('.'), word.size());
  const auto whole = NumberOf<int64_t>(word.substr(0, point));
  if (!whole || *whole < 0) return std::nullopt;
  if (point == word.size() && *whole >= kFirstMilliseconds) {
    constexpr int64_t kEach = 1'000'000;
    if (*whole > std::numeric_limits<int64_t>::max() / kEach) return std::nullopt;
    return *whole * kEach;
  }
  if (*whole > kMostSeconds) return std::nullopt;
  std::string fraction(word.substr(std::min(point + 1, word.size())));
  if (fraction.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  fraction.resize(kDigits, '0');
  return *whole * kNanosecondsEach + NumberOf<int64_t>(fraction).value_or(0);
}

bool ReadLabels(Rest& rest, SampleLine& sample) {
  std::string name, value;
  while (true) {
    rest.SkipBlank();
    if (rest.Take('}')) return true;
    const bool is_quoted = rest.IsAt('"');
    if (is_quoted) {
      if (!rest.TakeQuoted(name)) return false;
    } else {
      name = rest.TakeName();
    }
    if (name.empty()) return false;
    rest.SkipBlank();
    if (rest.Take('=')) {
      rest.SkipBlank();
      if (!rest.TakeQuoted(value)) return false;
      sample.labels.emplace_back(name, value);
    } else if (is_quoted && sample.name.empty()) {
      sample.name = name;  // a metric whose name is any text stands among its labels
    } else {
      return false;
    }
    rest.SkipBlank();
    if (!rest.Take(',') && !rest.IsAt('}')) return false;
  }
}

}  // namespace

bool ReadSampleLine(std::string_view line, SampleLine& sample) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  Rest rest(line);
  sample.labels.clear();
  sample.time_ns.reset();
  sample.has_exemplar = false;
  rest.SkipBlank();
  sample.name = rest.TakeName();
  rest.SkipBlank();
  if (rest.Take('{') && !ReadLabels(rest, sample)) return false;
  if (sample.name.empty()) return false;
  std::sort(sample.labels.begin(), sample.labels.end());
  const auto same =
      std::adjacent_find(sample.labels.begin(), sample.labels.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same != sample.labels.end()) return false;
  rest.SkipBlank();
  const auto value = ReadValue(rest.TakeWord());
  if (!value) return false;
  sample.value = *value;
  rest.SkipBlank();
  if (!rest.IsEmpty() && !rest.IsAt('#')) {
    sample.time_ns = ReadTime(rest.TakeWord());
    if (!sample.time_ns) return false;
    rest.SkipBlank();
  }
  if (rest.IsEmpty()) return true;
  sample.has_exemplar = rest.Take('#');
  rest.SkipBlank();
  return sample.has_exemplar && rest.IsAt('{');
}

}  // namespace telltale::prometheus
