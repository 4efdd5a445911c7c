// Structural tokens from any bytes: vocabularies and encoded steps that are no such thing are
// refused without a crash; steps made from the bytes come back exactly, also with a vocabulary that
// was learned on others.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tokens/learn.h"

namespace {

using namespace telltale;
using namespace telltale::tokens;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

// Four bytes an event: how far up its parent is, what it is, where it lies, its times.
CallTrees TreesOf(std::string_view bytes) {
  constexpr size_t kEvents = 64;  // of a step
  CallTrees trees;
  for (int i = 0; i < 16; ++i) trees.names.push_back("name_" + std::to_string(i));
  for (int i = 0; i < 4; ++i) trees.tracks.push_back({"track " + std::to_string(i), i % 2 == 1});
  std::vector<uint32_t> open;
  for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    if (trees.parent.size() - trees.first.back() == kEvents) {
      trees.first.push_back(trees.parent.size());
      open.clear();
    }
    const auto node = static_cast<uint32_t>(trees.parent.size() - trees.first.back());
    for (size_t up = byte(0) % 8; up > 0 && open.size() > 1; --up) open.pop_back();
    trees.parent.push_back(open.empty() ? kNone : open.back());
    open.push_back(node);
    trees.name.push_back(byte(1) % 16);
    trees.kind.push_back(static_cast<EventKind>(byte(1) % trace::kEventKinds));
    trees.basis.push_back(static_cast<ParentBasis>(byte(1) % 4));
    trees.track.push_back(byte(2) % 8 > 4 ? kNone : byte(2) % 4);
    trees.communicator.push_back(byte(2) < 250 ? kNone : byte(2));
    trees.event.push_back(byte(0) * 7);
    trees.start_ns.push_back(byte(3) == 255 ? INT64_MIN : byte(3) * 1000 + node);
    trees.duration_ns.push_back(byte(3) % 5 - 1);
    trees.correlation.push_back(byte(3) % 3 - 1);
  }
  if (trees.parent.size() > trees.first.back()) trees.first.push_back(trees.parent.size());
  for (size_t step = 0; step < trees.Steps(); ++step) trees.number.push_back(step);
  return trees;
}

void RequireLossless(const Codec& codec, const CallTrees& trees) {
  const auto decoded = DecodeSteps(codec, EncodeSteps(codec, trees, 1));
  Require(decoded.has_value(), "what was encoded is decoded");
  Require(DifferenceOf(trees, *decoded).empty(), "the steps come back");
}

const Codec& KnownCodec() {
  static const Codec codec = [] {
    std::string bytes;
    for (int i = 0; i < 4000; ++i) bytes += static_cast<char>((i * i) >> 3);
    return *LearnVocabulary(TreesOf(bytes), {64, 1});
  }();
  return codec;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(input + 1), size - 1);
  if (input[0] % 3 == 0) {
    if (auto vocabulary = ParseVocabulary(bytes)) (void)Codec::Make(std::move(*vocabulary));
  } else if (input[0] % 3 == 1) {
    auto steps = ParseEncoded(bytes);
    if (!steps) return 0;
    steps->vocabulary_digest = KnownCodec().digest();
    if (const auto decoded = DecodeSteps(KnownCodec(), *steps)) {
      Require(CheckTrees(*decoded).has_value(), "what is decoded are trees");
    }
  } else if (size > 8) {
    constexpr size_t kMostBytes = 800;  // a vocabulary is learned of them each time
    const CallTrees trees = TreesOf(bytes.substr(0, kMostBytes));
    Require(CheckTrees(trees).has_value(), "they are trees");
    RequireLossless(KnownCodec(), trees);
    const auto codec = LearnVocabulary(trees, {40, 1});
    Require(codec.has_value(), "a vocabulary is learned");
    RequireLossless(*codec, trees);
  }
  return 0;
}
