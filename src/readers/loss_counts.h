#pragma once

// What a source lost, by kind, as its reader goes through it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "readers/source_writer.h"

namespace telltale {

class LossCounts {
 public:
  // `position` and `detail` of the first of a kind stay. `loss_class`: line or note.
  void Add(std::string_view kind, std::string_view loss_class, uint64_t count, uint64_t position,
           std::string_view detail) {
    if (count == 0) return;
    for (SourceLoss& loss : losses_) {
      if (loss.kind != kind || loss.loss_class != loss_class) continue;
      loss.count += count;
      return;
    }
    losses_.push_back(
        {std::string(kind), std::string(loss_class), count, position, std::string(detail)});
  }

  uint64_t CountOf(std::string_view kind) const {
    for (const SourceLoss& loss : losses_) {
      if (loss.kind == kind) return loss.count;
    }
    return 0;
  }

  // Records that are not rows.
  uint64_t Records() const {
    uint64_t count = 0;
    for (const SourceLoss& loss : losses_) count += loss.loss_class == "line" ? loss.count : 0;
    return count;
  }

  const std::vector<SourceLoss>& all() const { return losses_; }

 private:
  std::vector<SourceLoss> losses_;  // a handful of kinds
};

}  // namespace telltale
