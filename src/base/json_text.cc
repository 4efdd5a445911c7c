#include "base/json_text.h"

#include <array>
#include <cstddef>

namespace telltale {
namespace {

// A sequence at the start of some text: how many bytes it takes and whether they are a character.
struct Sequence {
  std::size_t length;
  bool valid;
};

// What may follow a lead byte (Unicode Standard, table 3-7): the range of the second byte, and how
// many bytes there are in all. Later bytes are always 80..BF. `length` 0: not a lead byte.
struct LeadByte {
  std::size_t length;
  unsigned char second_min;
  unsigned char second_max;
};

constexpr LeadByte DescribeLead(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};  // Not the surrogates D800..DFFF.
  if (lead >= 0xE1 && lead <= 0xEF) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

Sequence FirstSequence(std::string_view text) {
  const LeadByte lead = DescribeLead(static_cast<unsigned char>(text[0]));
  if (lead.length == 0) return {1, false};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i >= text.size()) return {i, false};
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char min = i == 1 ? lead.second_min : 0x80;
    const unsigned char max = i == 1 ? lead.second_max : 0xBF;
    if (byte < min || byte > max) return {i, false};
  }
  return {lead.length, true};
}

void AppendEscapedAscii(std::string& out, char character) {
  switch (character) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  constexpr std::array<char, 16> kDigits = {'0', '1', '2', '3', '4', '5', '6', '7',
                                            '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
  const auto byte = static_cast<unsigned char>(character);
  out += "\\u00";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 0xF];
}

constexpr bool IsPlain(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte >= 0x20 && byte < 0x7F && character != '"' && character != '\\';
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && IsPlain(text[plain])) ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      AppendEscapedAscii(out, text[0]);
      text.remove_prefix(1);
      continue;
    }
    const Sequence sequence = FirstSequence(text);
    if (sequence.valid) {
      out.append(text.substr(0, sequence.length));
    } else {
      out += "\\ufffd";
    }
    text.remove_prefix(sequence.length);
  }
  out += '"';
}

std::string JsonString(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  AppendJsonString(out, text);
  return out;
}

}  // namespace telltale
