#include "readers/log/template_masks.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "readers/log/template_bytes.h"

namespace telltale::log {

namespace {

// Less than the rest is written between two looks at what is left, but for letters as they stand.
constexpr size_t kFullBytes = kMaxFormBytes - 64;

// One message. What `at_` has passed is in `out_`.
class Scan {
 public:
  Scan(std::string_view message, char* buffer)
      : begin_(message.data()),
        at_(begin_),
        end_(begin_ + message.size()),
        buffer_(buffer),
        out_(buffer) {}

  std::string_view Run(size_t max_tokens) {
    for (size_t tokens = 0;; ++tokens) {
      while (at_ != end_ && (ClassOf(*at_) & kSpace) != 0) ++at_;
      if (at_ == end_) break;
      if (tokens == max_tokens || IsFull()) {
        Cut();
        break;
      }
      if (out_ != buffer_) *out_++ = ' ';
      if (Token()) --tokens;
    }
    return {buffer_, static_cast<size_t>(out_ - buffer_)};
  }

 private:
  bool IsFull() const { return out_ - buffer_ >= static_cast<ptrdiff_t>(kFullBytes); }

  void Cut() {
    if (out_ != buffer_ && !EndsWithWildcard(out_)) {
      *out_++ = ' ';
      WriteWildcard();
    }
    at_ = end_;
  }

  bool EndsWithWildcard(const char* end) const {
    return end - buffer_ >= 3 && std::memcmp(end - 3, kWildcard.data(), 3) == 0;
  }

  void WriteWildcard() {
    std::memcpy(out_, kWildcard.data(), 3);
    out_ += 3;
  }

  // Writes a wildcard, or nothing where it belongs to the one before.
  void Wildcard() {
    // The sign of a number is part of it, unless it joins words.
    if (out_ > token_ && (out_[-1] == '-' || out_[-1] == '+') &&
        (out_ - 1 == token_ || (ClassOf(out_[-2]) & kAlnum) == 0) && !EndsWithWildcard(out_ - 1)) {
      --out_;
    }
    if (out_ - token_ >= 3 && EndsWithWildcard(out_)) return;
    if (out_ - token_ >= 4 && (ClassOf(out_[-1]) & kJoiner) != 0 && EndsWithWildcard(out_ - 1)) {
      --out_;
      return;
    }
    if (first_wildcard_ == nullptr) first_wildcard_ = out_;
    WriteWildcard();
  }

  void Letters() { (first_wildcard_ == nullptr ? has_letters_ : has_letters_behind_) = true; }

  // True where the token became part of the one before.
  bool Token() {
    token_ = out_;
    first_wildcard_ = nullptr;
    has_letters_ = has_letters_behind_ = false;
    while (at_ != end_) {
      const uint8_t kind = ClassOf(*at_);
      if ((kind & kAlnum) != 0) {
        Atom();
      } else if ((kind & kSpace) != 0) {
        break;
      } else if (!((kind & kOpens) != 0 && Opened()) && !(*at_ == '<' && Port())) {
        *out_++ = *at_++;
      }
      if (IsFull()) {
        Wildcard();
        at_ = end_;
      }
    }
    char* const values = Values();
    if (values == token_ && previous_ != nullptr && JoinValues()) return true;
    previous_ = values;
    return false;
  }

  // Where the values of the token begin, which has nothing else behind that: behind its key, if it
  // has one. Null if it has no values, or words behind them.
  char* Values() const {
    if (first_wildcard_ == nullptr || has_letters_behind_) return nullptr;
    if (!has_letters_) return token_;
    if (first_wildcard_ == token_) return nullptr;
    if (!EndsWithWildcard(out_) && !(out_[-1] == ',' && EndsWithWildcard(out_ - 1))) return nullptr;
    const char before = first_wildcard_[-1];
    return before == ':' || before == '=' || before == '(' || before == '[' ? first_wildcard_
                                                                            : nullptr;
  }

  // Values side by side are one list, of any length: "[<*>, <*>]," is "[<*>],". What stands around
  // the first and the last one stays where it can be the list's. False for what is no list: a value
  // behind quoted text or a colon.
  bool JoinValues() {
    const char* const first_end = token_ - 1;
    const std::string_view first(previous_, static_cast<size_t>(first_end - previous_));
    const std::string_view last(token_, static_cast<size_t>(out_ - token_));
    const size_t before = first.find(kWildcard);
    const std::string_view behind_first = first.substr(before + kWildcard.size());
    const bool quoted = behind_first.starts_with('"') || behind_first.starts_with('\'');
    if (quoted && last.front() != behind_first.front()) return false;
    if (behind_first.ends_with(':')) return false;
    const bool plain_first = behind_first.empty() || behind_first == "," || behind_first == ";";
    const std::string_view behind_last = last.substr(last.rfind(kWildcard) + kWildcard.size());
    const bool plain_last = last.starts_with(kWildcard);
    char* to = previous_ + (plain_first ? before : 0);
    std::memcpy(to, kWildcard.data(), 3);
    to += 3;
    if (plain_last) {
      std::memmove(to, behind_last.data(), behind_last.size());
      to += behind_last.size();
    }
    out_ = to;
    return true;
  }

  // NCCL writes addresses as 10.0.0.1<54862>.
  bool Port() {
    if (out_ - token_ < 3 || !EndsWithWildcard(out_)) return false;
    const char* at = at_ + 1;
    while (at != end_ && (ClassOf(*at) & kDigit) != 0 && at - at_ < 7) ++at;
    if (at == at_ + 1 || at == end_ || *at != '>') return false;
    at_ = at + 1;
    return true;
  }

  // Letters and digits up to what is neither.
  void Atom() {
    const char* const start = at_;
    const char* const limit = std::min(end_, start + (buffer_ + kFullBytes - out_));
    const char* at = CopyLetters(start, limit, out_);
    const size_t letters = static_cast<size_t>(at - start);
    if (at == limit || (ClassOf(*at) & kDigit) == 0) {
      at_ = at;
      if (at != end_ && (*at == ':' || *at == '-') && letters <= 8 && IsHexId(start, letters)) {
        return Wildcard();
      }
      if (IsConstantValue({start, letters})) return Wildcard();
      out_ += letters;
      return Letters();
    }
    uint8_t any = letters > 0 ? kLetter : kDigit, missing = 0;
    for (at = start; at != limit && (ClassOf(*at) & kAlnum) != 0; ++at) {
      any |= ClassOf(*at);
      missing |= (ClassOf(*at) & kHexadecimal) == 0;
    }
    at_ = at;
    const size_t size = static_cast<size_t>(at - start);
    if (at != end_ && (*at == ':' || *at == '-') && size <= 8 && IsHexId(start, size)) {
      return Wildcard();
    }
    if ((any & kLetter) == 0) return Wildcard();
    WithDigits(start, size, any, missing == 0);
  }

  // True for an id of several groups that begins with these bytes; `at_` is then behind it.
  bool IsHexId(const char* start, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      if ((ClassOf(start[i]) & kHexadecimal) == 0) return false;
    }
    return *at_ == ':' ? HexGroups(start) : size == 8 && Uuid(start);
  }

  bool IsConstantValue(std::string_view word) const {
    return (word.size() == 4 || word.size() == 5) &&
           (word == "True" || word == "False" || word == "None");
  }

  // A word of letters and digits; `at_` is behind it.
  void WithDigits(const char* start, size_t size, uint8_t any, bool is_hex) {
    const bool upper = (any & kUpperHex) != 0;
    if (is_hex && size >= (upper ? 8 : 3)) return Wildcard();
    if (size >= 20) return Wildcard();
    const bool digit_first = (ClassOf(start[0]) & kDigit) != 0;
    if (digit_first) {
      if (size > 2 && start[0] == '0' && (start[1] == 'x' || start[1] == 'X')) return Wildcard();
      if (is_hex && !upper && start[size - 1] != 'e') return Wildcard();
      size_t digits = 1;
      while ((ClassOf(start[digits]) & kDigit) != 0) ++digits;
      Wildcard();
      if (IsExponent(start + digits, at_)) {
        ++at_;  // the sign; the digits behind it join this wildcard
        while (at_ != end_ && (ClassOf(*at_) & kDigit) != 0) ++at_;
        return;
      }
      return CopyWithout(start + digits);
    }
    // P2P, S3a: names, not numbers.
    const bool digit_last = (ClassOf(start[size - 1]) & kDigit) != 0;
    if (!digit_last && size <= 3) {
      Letters();
      std::memcpy(out_, start, size);
      out_ += size;
      return;
    }
    CopyWithout(start);
  }

  bool IsExponent(const char* from, const char* to) const {
    return to - from == 1 && (*from == 'e' || *from == 'E') && end_ - to >= 2 &&
           (*to == '+' || *to == '-') && (ClassOf(to[1]) & kDigit) != 0;
  }

  // Up to `at_`, with a wildcard for each run of digits.
  void CopyWithout(const char* from) {
    while (from != at_) {
      if ((ClassOf(*from) & kDigit) == 0) {
        Letters();
        *out_++ = *from++;
        continue;
      }
      while (from != at_ && (ClassOf(*from) & kDigit) != 0) ++from;
      Wildcard();
    }
  }

  // 8-4-4-4-12.
  bool Uuid(const char* start) {
    constexpr size_t kLength = 36;
    if (static_cast<size_t>(end_ - start) < kLength) return false;
    for (size_t i = 8; i < kLength; ++i) {
      const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
      if (dash ? start[i] != '-' : (ClassOf(start[i]) & kHexadecimal) == 0) return false;
    }
    at_ = start + kLength;
    return true;
  }

  // Three groups or more, as in bus ids, hardware addresses and addresses of IPv6.
  bool HexGroups(const char* start) {
    unsigned groups = 0, digits = 0;
    const char* at = start;
    const char* behind = start;  // the last group
    for (; groups < 8; ++groups) {
      const char* const group = at;
      while (at != end_ && at - group < 9 && (ClassOf(*at) & kHexadecimal) != 0) {
        digits += (ClassOf(*at) & kDigit) != 0 ? 1 : 0;
        ++at;
      }
      if (at - group > 8) return false;
      if (at != group)
        behind = at;
      else if (at != start && at != end_ && *at != ':' && at[-1] != ':')
        break;
      if (at == end_ || *at != ':') {
        ++groups;
        break;
      }
      ++at;
    }
    if (groups < 3 || digits == 0) return false;
    if (behind != end_ && (ClassOf(*behind) & kLetter) != 0) return false;
    at_ = behind;
    return true;
  }

  // Quoted text, a dictionary, a list of quoted texts, or a path. False where it is none of them.
  bool Opened() {
    if (at_ != begin_ && (ClassOf(at_[-1]) & kAlnum) != 0) return false;
    switch (*at_) {
      case '\'':
      case '"':
        return Quoted(*at_);
      case '{':
      case '[':
        return at_ + 1 != end_ && (at_[1] == '\'' || at_[1] == '"') && Bracketed();
      default:
        return Path();
    }
  }

  // Behind the closing quote of the text that opens at `open`, or null. A quote between letters is
  // an apostrophe.
  const char* CloseQuote(const char* open) {
    const char quote = *open;
    bool& hopeless = quote == '"' ? no_double_ : no_single_;
    if (hopeless) return nullptr;
    for (const char* at = open + 1; at < end_; ++at) {
      if (*at == '\\') {
        ++at;
      } else if (*at == quote && (at + 1 == end_ || (ClassOf(at[1]) & kAlnum) == 0)) {
        return at + 1;
      }
    }
    hopeless = true;  // none will be found from later on either
    return nullptr;
  }

  bool Quoted(char quote) {
    const char* const behind = CloseQuote(at_);
    if (behind == nullptr) return false;
    const std::string_view text(at_ + 1, static_cast<size_t>(behind - at_ - 2));
    at_ = behind;
    if (text.size() > 9 && text.substr(text.size() - 9).starts_with(" HTTP/")) DropReason();
    *out_++ = quote;
    Wildcard();
    *out_++ = quote;
    return true;
  }

  // Access logs say "404 Not Found" behind the request; the number says it all.
  void DropReason() {
    const std::string_view rest(at_, static_cast<size_t>(end_ - at_));
    if (rest.size() < 6 || rest.size() > 48 || rest[0] != ' ' || rest[4] != ' ') return;
    for (size_t i = 1; i < rest.size(); ++i) {
      const uint8_t kind = ClassOf(rest[i]);
      if (i < 4 ? (kind & kDigit) == 0 : (kind & (kLetter | kSpace)) == 0) return;
    }
    end_ = at_ + 4;
  }

  bool Bracketed() {
    if (no_bracket_) return false;
    unsigned depth = 0;
    for (const char* at = at_; at < end_;) {
      if (*at == '\'' || *at == '"') {
        const char* const behind = CloseQuote(at);
        at = behind != nullptr ? behind : at + 1;
        continue;
      }
      if (*at == '{' || *at == '[') ++depth;
      if (*at == '}' || *at == ']') --depth;
      ++at;
      if (depth != 0) continue;
      Wildcard();
      at_ = at;
      return true;
    }
    no_bracket_ = true;
    return false;
  }

  bool Path() {
    const char* at = at_ + 1;
    if (at == end_ || (*at_ == '~' && *at != '/')) return false;
    if ((ClassOf(*at) & kAlnum) == 0 && *at != '/' && *at != '.' && *at != '_') return false;
    constexpr std::string_view kEnds = ",;:'\"()[]{}<>=|";
    while (at != end_ && (ClassOf(*at) & kSpace) == 0 &&
           kEnds.find(*at) == std::string_view::npos) {
      ++at;
    }
    while (at[-1] == '.' && at - 1 > at_) --at;
    at_ = at;
    Wildcard();
    return true;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  char* buffer_;
  char* out_;
  char* token_ = nullptr;           // where the current token begins in the form
  char* previous_ = nullptr;        // values at the end of the token before
  char* first_wildcard_ = nullptr;  // of the current token
  bool has_letters_ = false, has_letters_behind_ = false;  // before its first wildcard, or behind
  bool no_single_ = false, no_double_ = false, no_bracket_ = false;
};

}  // namespace

Masker::Masker(size_t max_tokens)
    : max_tokens_(std::max<size_t>(1, max_tokens)),
      buffer_(std::make_unique<char[]>(kMaxFormBytes + 64)) {}

std::string_view Masker::Mask(std::string_view message) {
  return Scan(message, buffer_.get()).Run(max_tokens_);
}

}  // namespace telltale::log
