#include <algorithm>

#include "tokens/encoded_steps.h"

namespace telltale::tokens {

Codec::Codec(Vocabulary vocabulary, Grammar grammar)
    : vocabulary_(std::move(vocabulary)),
      grammar_(std::move(grammar)),
      digest_(DigestOf(vocabulary_)),
      places_(vocabulary_.tokens.size()) {
  for (uint32_t token = 0; token < places_.size(); ++token) {
    for (const uint32_t label : grammar_.ExpansionOf(token).label) {
      const Place place = vocabulary_.labels[label].place;
      if (place == Place::kThread) places_[token] |= 1;
      if (place == Place::kStream) places_[token] |= 2;
    }
  }
}

Result<Codec> Codec::Make(Vocabulary vocabulary) {
  LabelTable labels;
  for (const Label& label : vocabulary.labels) labels.Add(label);
  if (labels.size() < vocabulary.labels.size()) return Fail("it has the same label twice");
  TELLTALE_ASSIGN(Grammar grammar, Grammar::Make(vocabulary));
  return Codec(std::move(vocabulary), std::move(grammar));
}

uint32_t Codec::SlotOfLabel(uint32_t label) const {
  const uint32_t token = grammar_.TokenOfLabel(label);
  return token == kNone ? kNone : vocabulary_.tokens[token].items.front().slot;
}

Status CheckTrees(const CallTrees& trees) {
  if (trees.number.size() != trees.Steps()) return Fail("steps without a number");
  for (size_t step = 0; step < trees.Steps(); ++step) {
    const size_t first = trees.first[step];
    const size_t count = trees.first[step + 1] - first;
    if (count == 0) return Fail("step {} has no events", step);
    if (count >= kMany) return Fail("step {} has more than {} events", step, kMany);
    std::vector<uint32_t> open;  // from the root to the last node
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t parent = trees.parent[first + i];
      while (!open.empty() && open.back() != parent) open.pop_back();
      if (open.empty() != (i == 0) || (i == 0 && parent != kNone)) {
        return Fail("step {}: event {} does not follow its parent", step, i);
      }
      open.push_back(i);
    }
  }
  return {};
}

std::string DifferenceOf(const CallTrees& one, const CallTrees& other) {
  if (one.first != other.first || one.number != other.number) return "steps have other events";
  if (one.names != other.names) return "names";
  if (one.tracks != other.tracks) return "tracks";
  const auto differs = [](const auto& values, const auto& others, const char* what) {
    const auto at = std::mismatch(values.begin(), values.end(), others.begin(), others.end()).first;
    return at == values.end() ? std::string()
                              : fmt::format("the {} of event {}", what, at - values.begin());
  };
  std::string difference;
  const auto compare = [&](const auto& member, const char* what) {
    if (difference.empty()) difference = differs(one.*member, other.*member, what);
  };
  compare(&CallTrees::parent, "parent");
  compare(&CallTrees::name, "name");
  compare(&CallTrees::track, "track");
  compare(&CallTrees::kind, "kind");
  compare(&CallTrees::basis, "basis");
  compare(&CallTrees::event, "number");
  compare(&CallTrees::start_ns, "start");
  compare(&CallTrees::duration_ns, "duration");
  compare(&CallTrees::correlation, "correlation id");
  return difference;
}

}  // namespace telltale::tokens
