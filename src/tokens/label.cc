#include "tokens/label.h"

#include <simdjson.h>

#include "tokens/name_label.h"

namespace telltale::tokens {
namespace {

std::string KeyOf(const Label& label) {
  std::string key;
  key += static_cast<char>(label.kind);
  key += static_cast<char>(label.basis);
  key += static_cast<char>(label.place);
  return key + label.text;
}

// A vocabulary is JSON; names of events keep their bytes.
std::string InUtf8(std::string text) {
  if (simdjson::validate_utf8(text)) return text;
  std::string valid;
  for (const char c : text) {
    valid += static_cast<unsigned char>(c) < 0x80 ? std::string_view(&c, 1) : "\xef\xbf\xbd";
  }
  return valid;
}

}  // namespace

uint32_t LabelTable::Add(const Label& label) {
  const auto [place, added] =
      numbers_.try_emplace(KeyOf(label), static_cast<uint32_t>(labels_.size()));
  if (added) labels_.push_back(label);
  return place->second;
}

uint32_t LabelTable::Find(const Label& label) const {
  const auto found = numbers_.find(KeyOf(label));
  return found == numbers_.end() ? kNone : found->second;
}

std::vector<uint32_t> LabelsOf(const CallTrees& trees, LabelTable& table) {
  // Almost every name comes with one kind, basis and place only.
  struct Known {
    uint32_t variant = kNone;
    uint32_t label = kNone;
  };
  std::vector<Known> usual(trees.names.size());
  std::unordered_map<uint64_t, uint32_t> others;
  std::vector<Place> places;
  for (const TreeTrack& track : trees.tracks) {
    places.push_back(track.is_stream ? Place::kStream : Place::kThread);
  }
  const auto label_of = [&](size_t node, uint32_t variant, Place place) {
    const uint32_t name = trees.name[node];
    const auto [known, added] = others.try_emplace(uint64_t{name} << 32 | variant, kNone);
    if (added) {
      known->second = table.Add({trees.kind[node], trees.basis[node], place,
                                 InUtf8(LabelOfName(trees.kind[node], trees.names[name]))});
    }
    return known->second;
  };
  std::vector<uint32_t> labels(trees.Nodes());
  for (size_t node = 0; node < labels.size(); ++node) {
    const uint32_t track = trees.track[node];
    const Place place = track == kNone ? Place::kNowhere : places[track];
    const uint32_t variant = static_cast<uint32_t>(trees.kind[node]) << 16 |
                             static_cast<uint32_t>(trees.basis[node]) << 8 |
                             static_cast<uint32_t>(place);
    Known& known = usual[trees.name[node]];
    if (known.variant == variant) {
      labels[node] = known.label;
      continue;
    }
    const uint32_t label = label_of(node, variant, place);
    if (known.variant == kNone) known = {variant, label};
    labels[node] = label;
  }
  return labels;
}

}  // namespace telltale::tokens
