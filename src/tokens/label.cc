#include "tokens/label.h"

#include "store/database.h"
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

}  // namespace

uint32_t LabelTable::Add(const Label& label) {
  const uint32_t number = numbers_.Add(KeyOf(label));
  if (number == labels_.size()) labels_.push_back(label);
  return number;
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
                                 StoredText(LabelOfName(trees.kind[node], trees.names[name]))});
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
