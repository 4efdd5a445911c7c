#include "tokens/name_numbers.h"

#include <algorithm>
#include <cstddef>

namespace telltale::tokens {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
bool IsHexadecimal(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
char Lower(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsAmong(std::string_view digits, std::string_view numbers) {
  while (!numbers.empty()) {
    const std::string_view number = numbers.substr(0, numbers.find(' '));
    if (number == digits) return true;
    numbers.remove_prefix(std::min(numbers.size(), number.size() + 1));
  }
  return false;
}

bool EndsWithStem(std::string_view letters, std::string_view stem) {
  return letters.size() >= stem.size() &&
         std::equal(stem.rbegin(), stem.rend(), letters.rbegin(),
                    [](char of_stem, char c) { return of_stem == Lower(c); });
}

struct Stem {
  std::string_view letters;
  std::string_view numbers;
};
constexpr std::string_view kBits = "1 2 3 4 6 8 16 32 64 128";
// Types, and functions that have a number in their name.
constexpr Stem kStems[] = {
    {"float", kBits},  {"fp", kBits}, {"bf", "16 8"},
    {"tf", "32"},      {"nf", "4"},   {"complex", "32 64 128"},
    {"log", "1 2 10"}, {"exp", "2"},  {"expm", "1"},
    {"atan", "2"},     {"relu", "6"}, {"sha", "1 256 512"},
    {"md", "5"},       {"crc", "32"},
};

// Digits of a word: where, and what is around them.
struct Run {
  std::string_view word;
  size_t begin = 0;
  size_t end = 0;
  std::string_view Digits() const { return word.substr(begin, end - begin); }
  std::string_view Before() const { return word.substr(0, begin); }
  char At(size_t position) const { return position < word.size() ? word[position] : '\0'; }
  // What stands some bytes before the digits.
  char Back(size_t bytes) const { return bytes <= begin ? word[begin - bytes] : '\0'; }
};

bool IsType(const Run& run) {
  const std::string_view before = run.Before();
  for (const Stem& stem : kStems) {
    if (EndsWithStem(before, stem.letters) && IsAmong(run.Digits(), stem.numbers)) return true;
  }
  // "int8", "uint8", "bf16xint4", but not "point8".
  if (EndsWithStem(before, "int") && IsAmong(run.Digits(), kBits)) {
    const char first = run.Back(4);
    if (!IsLower(first) || first == 'u' || first == 'x' || IsUpper(run.Back(3))) return true;
  }
  // "f32", "bf16f32", "i8", "u32" as NCCL, cuBLAS and cuDNN write them.
  return (run.Back(1) == 'f' || run.Back(1) == 'i' || run.Back(1) == 'u') &&
         !IsLetter(run.Back(2)) && IsAmong(run.Digits(), "8 16 32 64");
}

// "e4m3", "E2m1".
bool IsSmallFloat(const Run& run) {
  if (run.end - run.begin != 1) return false;
  const auto is_at = [&](size_t e) {
    return Lower(run.At(e)) == 'e' && IsDigit(run.At(e + 1)) && Lower(run.At(e + 2)) == 'm' &&
           IsDigit(run.At(e + 3)) && !IsDigit(run.At(e + 4));
  };
  return (run.begin >= 1 && is_at(run.begin - 1)) || (run.begin >= 3 && is_at(run.begin - 3));
}

bool IsDimension(const Run& run) {
  const char number = run.At(run.begin);
  if (run.end - run.begin != 1 || number < '1' || number > '4') return false;
  return run.At(run.end) == 'D' || (run.At(run.end) == 'd' && !IsLower(run.At(run.end + 1)));
}

bool IsVersion(const Run& run) {
  if (run.end - run.begin > 2) return false;
  if (run.begin == 1 && Lower(run.At(0)) == 'v') return run.end == run.word.size();
  return run.Back(1) == 'V' && IsLower(run.Back(2)) && !IsLower(run.At(run.end));
}

// "nhwc2nchw", "all2all", "p2p"; not "2x2".
bool IsTo(const Run& run) {
  const bool is_size = Lower(run.At(run.end)) == 'x' && IsDigit(run.At(run.end + 1));
  return run.Digits() == "2" && IsLetter(run.Back(1)) && IsLetter(run.At(run.end)) && !is_size;
}

// "L2", "l1Loss"; NCCL's protocol "LL128" beside "LL".
bool IsL(const Run& run) {
  if (run.word == "LL128") return true;
  return run.begin == 1 && Lower(run.At(0)) == 'l' && IsAmong(run.Digits(), "1 2") &&
         !IsLower(run.At(run.end));
}

// "w4a16": weights of 4 bits, activations of 16.
bool IsWeightsAndActivations(const Run& run) {
  size_t pairs = 0;
  for (size_t at = 0; at < run.word.size(); ++pairs) {
    if (pairs == 3 || (Lower(run.At(at)) != 'w' && Lower(run.At(at)) != 'a')) return false;
    const size_t begin = ++at;
    while (IsDigit(run.At(at))) ++at;
    if (!IsAmong(run.word.substr(begin, at - begin), "2 4 6 8 16")) return false;
  }
  return pairs >= 2;
}

bool TellsFunctionsApart(const Run& run) {
  return IsType(run) || IsSmallFloat(run) || IsDimension(run) || IsVersion(run) || IsTo(run) ||
         IsL(run) || IsWeightsAndActivations(run) || run.word.substr(run.end).starts_with("bit");
}

bool IsCounted(std::string_view before) {
  for (const std::string_view stem :
       {"layer",  "layers",  "block",  "blocks", "step",   "iter",   "iteration",
        "epoch",  "batch",   "mb",     "chunk",  "rank",   "stage",  "bucket",
        "expert", "gpu",     "device", "stream", "thread", "worker", "node",
        "shard",  "request", "req",    "seq",    "token",  "tokens"}) {
    if (EndsWithStem(before, stem)) return true;
  }
  return false;
}

bool Stays(const Run& run, Numbers numbers, bool in_brackets) {
  const size_t digits = run.end - run.begin;
  const bool in_a_word = IsLetter(run.Back(1));
  if (numbers == Numbers::kPathOfFile && digits <= (in_a_word ? 3 : 2)) return true;
  if (TellsFunctionsApart(run)) return true;
  if (numbers == Numbers::kOwnWords) return in_a_word && digits <= 2;
  if (numbers == Numbers::kCounts) {
    return in_a_word && digits <= 2 && !in_brackets && !IsCounted(run.Before());
  }
  return false;
}

template <typename Visit>
void ForEachRun(std::string_view word, Visit visit) {
  for (size_t at = 0; at < word.size();) {
    if (!IsDigit(word[at])) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    while (end < word.size() && IsDigit(word[end])) ++end;
    visit(Run{word, at, end});
    at = end;
  }
}

bool IsAddress(std::string_view word) {
  return word.size() > 2 && word[0] == '0' && Lower(word[1]) == 'x' &&
         std::all_of(word.begin() + 2, word.end(), IsHexadecimal);
}

// Digests in hexadecimal, and what torch.compile and Triton call compiled code by (base 32).
bool IsHash(std::string_view word) {
  if (word.size() < 8) return false;
  size_t digits = 0, lower = 0, upper = 0;
  bool is_hexadecimal = true, is_base32 = word.size() >= 32;
  for (const char c : word) {
    digits += IsDigit(c);
    lower += IsLower(c);
    upper += IsUpper(c);
    is_hexadecimal = is_hexadecimal && IsHexadecimal(c);
    is_base32 = is_base32 && (IsLetter(c) || (c >= '2' && c <= '7'));
  }
  if (digits < 2 || (lower > 0) == (upper > 0)) return false;
  if (is_base32 && digits >= 3) return true;
  if (!is_hexadecimal) return false;
  // "bf16bf16" has hexadecimal digits only.
  bool is_of_types = true;
  ForEachRun(word, [&](const Run& run) { is_of_types = is_of_types && TellsFunctionsApart(run); });
  return !is_of_types;
}

// 36 if the text begins with "550e8400-e29b-41d4-a716-446655440000", else 0.
size_t UuidBytes(std::string_view text) {
  constexpr std::string_view kShape = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
  if (text.size() < kShape.size()) return 0;
  for (size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == '-' ? text[i] != '-' : !IsHexadecimal(text[i])) return 0;
  }
  return kShape.size();
}

void AppendMark(std::string& out) {
  if (!out.ends_with('#')) out += '#';
}

// torch.compile keeps "cobhwr....py" in the folder "ob".
void ForgetFolderOfHash(std::string_view hash, std::string& out) {
  const size_t size = out.size();
  if (size < 4 || out[size - 1] != '/' || out[size - 4] != '/') return;
  if (std::string_view(out).substr(size - 3, 2) != hash.substr(1, 2)) return;
  out.replace(size - 3, 2, "#");
}

void AppendWord(std::string_view word, Numbers numbers, bool in_brackets, std::string& out) {
  if (std::none_of(word.begin(), word.end(), IsDigit)) {
    out += word;
    return;
  }
  if (IsAddress(word)) {
    AppendMark(out);
    return;
  }
  if (numbers == Numbers::kAddresses) {
    out += word;
    return;
  }
  if (IsHash(word)) {
    ForgetFolderOfHash(word, out);
    AppendMark(out);
    return;
  }
  size_t done = 0;
  ForEachRun(word, [&](const Run& run) {
    out += word.substr(done, run.begin - done);
    if (Stays(run, numbers, in_brackets)) {
      out += run.Digits();
    } else {
      AppendMark(out);
    }
    done = run.end;
  });
  out += word.substr(done);
}

}  // namespace

void AppendNumbersReplaced(std::string_view text, Numbers numbers, std::string& out) {
  size_t brackets = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (!IsDigit(c) && !IsLetter(c)) {
      if (c == '(' || c == '[') ++brackets;
      if ((c == ')' || c == ']') && brackets > 0) --brackets;
      out += c;
      ++at;
      continue;
    }
    if (numbers != Numbers::kAddresses && IsHexadecimal(c)) {
      if (const size_t bytes = UuidBytes(text.substr(at))) {
        AppendMark(out);
        at += bytes;
        continue;
      }
    }
    size_t end = at + 1;
    while (end < text.size() && (IsDigit(text[end]) || IsLetter(text[end]))) ++end;
    AppendWord(text.substr(at, end - at), numbers, brackets > 0, out);
    at = end;
  }
}

}  // namespace telltale::tokens
