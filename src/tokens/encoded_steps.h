#pragma once

// Steps as structural tokens, with the exact values of their events beside them.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokens/grammar.h"
#include "tokens/values.h"

namespace telltale::tokens {

// One token of the sequence, in the order of a walk.
struct Symbol {
  uint32_t token = 0;
  uint32_t label = kNone;   // of an event: its label, among those of EncodedSteps
  uint32_t times = 1;       // so often one after another
  uint32_t parent = kNone;  // symbol; kNone: the step's first
  uint32_t depth = 0;       // of its first event in the step
  uint32_t children = 0;    // symbols right below it; of an event only
  uint32_t first_node = 0;
  uint32_t nodes = 1;  // with all times
};

struct EncodedStep {
  std::array<std::string, kColumns> columns;
  uint64_t number = 0;  // as in CallTrees
  uint32_t nodes = 0;
  uint32_t symbols = 0;           // tokens, and how often they stand there where that is not once
  uint32_t spelled_labels = 0;    // labels that the vocabulary has no token for
  uint32_t name_corrections = 0;  // names that are not the expected ones
  uint32_t novel_nodes = 0;       // events written one by one, but for leaves that have a token

  uint64_t StructureSymbols() const { return uint64_t{symbols} + spelled_labels; }
};

struct EncodedSteps {
  std::string vocabulary_digest;
  std::vector<Label> other_labels;  // numbers behind those of the vocabulary
  // By label: the name of its first event, where the vocabulary has no slot for it; else kNone.
  std::vector<uint32_t> first_names;
  std::vector<std::string> names;
  std::vector<TreeTrack> tracks;
  std::vector<EncodedStep> steps;
};

// A vocabulary with its grammar.
class Codec {
 public:
  static Result<Codec> Make(Vocabulary vocabulary);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Grammar& grammar() const { return grammar_; }
  const std::string& digest() const { return digest_; }
  // The slot of events that stand by themselves; kNone: the vocabulary does not know the label.
  uint32_t SlotOfLabel(uint32_t label) const;
  bool HoldsThread(uint32_t token) const { return places_[token] & 1; }
  bool HoldsStream(uint32_t token) const { return places_[token] & 2; }

 private:
  Codec(Vocabulary vocabulary, Grammar grammar);

  Vocabulary vocabulary_;
  Grammar grammar_;
  std::string digest_;
  std::vector<uint8_t> places_;  // by token: where its events lie
};

// Fails where the nodes of a step are no tree in the order of a walk.
Status CheckTrees(const CallTrees& trees);
// What differs, but for communicators; empty: nothing.
std::string DifferenceOf(const CallTrees& one, const CallTrees& other);

// All steps. `trees` must have passed CheckTrees().
EncodedSteps EncodeSteps(const Codec& codec, const CallTrees& trees, unsigned threads);

// The tokens of an encoded step, as they were found.
Result<std::vector<Symbol>> SymbolsOf(const Codec& codec, const EncodedSteps& steps, size_t step);

// The call chains again; communicators, which follow from the store, are left out. Fails where the
// steps were encoded with another vocabulary, or are damaged.
Result<CallTrees> DecodeSteps(const Codec& codec, const EncodedSteps& steps);

// As a file, one zstd frame; docs/tokens.md describes it to the byte.
Result<std::string> EncodedFile(const EncodedSteps& steps);
// Fails where these are not the first bytes of what such a frame holds.
Status CheckEncodedHead(std::string_view head);
// What the frame holds. Fails where it is something else, of a newer version, or damaged.
Result<EncodedSteps> ParseEncoded(std::string_view content);

}  // namespace telltale::tokens
