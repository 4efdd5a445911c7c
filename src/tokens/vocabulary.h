#pragma once

// The vocabulary of structural tokens: a tree grammar, learned once and then frozen.
//
// A token is
//   fallback  an event of a kind whose label the vocabulary does not know; the label is spelled
//   label     one event, whatever lies below it
//   subtree   an event with all that lies below it
//   siblings  several of those beside each other under one parent
// Those of several events are defined by events, and tokens of a lower number; `times` says that
// an item stands there so often. Nothing else is in it, so that every token is one connected
// subtree or one run of siblings.
//
// A slot is a place of the grammar where an event stands: of a label by itself, or in a definition.
// It says what the event normally takes there; encoded steps keep how they differ.
//
// As a file (JSON): {"schema": "telltale/vocabulary/1", "labels": [..], "tokens": [..], "digest"},
// where the digest is of all else, so that a vocabulary that was changed is not taken for the one
// that steps were encoded with.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokens/label.h"

namespace telltale::tokens {

// Tokens 0 … kEventKinds - 1 are the fallbacks, by kind.
constexpr uint32_t kFallbacks = trace::kEventKinds;
constexpr size_t kSmallestVocabulary = size_t{2} * kFallbacks;
constexpr size_t kLargestVocabulary = 65'536;

enum class TokenKind : uint8_t { kFallback, kLabel, kSubtree, kSiblings };
const char* TokenKindName(TokenKind kind);

struct Slot {
  int64_t duration_ns = 0;
  int64_t gap_ns = 0;  // from where the event could begin at the earliest (values.h)
  std::string name;    // the usual one; empty: none
  bool operator==(const Slot&) const = default;
};

// Of an event that has no slot, nothing is expected.
inline const Slot kNoSlot;

struct Item {
  uint32_t token = kNone;  // kNone: an event of `label` with the next `children` items below it
  uint32_t label = kNone;
  uint32_t times = 1;  // of a token, or of an event without children
  uint32_t children = 0;
  uint32_t slot = kNone;  // of an event
  bool operator==(const Item&) const = default;
};

struct Token {
  TokenKind kind = TokenKind::kFallback;
  std::vector<Item> items;  // in the order of a walk; a label's token has that event only
  bool operator==(const Token&) const = default;
};

struct Vocabulary {
  std::vector<Label> labels;
  std::vector<Token> tokens;
  std::vector<Slot> slots;
  // What it was learned from.
  uint64_t steps = 0, nodes = 0;

  // Symbols of the definitions of subtrees and siblings: events, tokens, and how often they stand
  // there.
  uint64_t DictionarySymbols() const;
};

// 32 hexadecimal digits.
std::string DigestOf(const Vocabulary& vocabulary);

std::string VocabularyText(const Vocabulary& vocabulary);
// Fails where the text is no vocabulary, of a newer schema, or was changed since it was written.
Result<Vocabulary> ParseVocabulary(std::string_view text);

}  // namespace telltale::tokens
