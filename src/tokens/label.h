#pragma once

// What structural tokens know of an event: its kind, how it hangs on its parent, whether it lies
// on a thread or a stream, and its name without what differs from size to size and from layer to
// layer (name_label.h).

#include <cstdint>
#include <string>
#include <vector>

#include "base/interner.h"
#include "tokens/call_trees.h"

namespace telltale::tokens {

enum class Place : uint8_t { kThread, kStream, kNowhere };

struct Label {
  EventKind kind = EventKind::kOther;
  ParentBasis basis = ParentBasis::kNone;
  Place place = Place::kThread;
  std::string text;
  bool operator==(const Label&) const = default;
};

// Numbers for labels, in the order in which they were added.
class LabelTable {
 public:
  uint32_t Add(const Label& label);
  const std::vector<Label>& labels() const { return labels_; }
  size_t size() const { return labels_.size(); }

 private:
  std::vector<Label> labels_;
  Interner numbers_;
};

// The label of each node; those that `table` lacks are added to it, in the order of the nodes.
std::vector<uint32_t> LabelsOf(const CallTrees& trees, LabelTable& table);

}  // namespace telltale::tokens
