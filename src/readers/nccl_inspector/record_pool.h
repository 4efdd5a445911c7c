#pragma once

// Memory of records that were written to the store, for those of the next source: given back to the
// heap, it came in pieces that fitted nothing, and every source grew its vectors anew.

#include <cstddef>
#include <utility>
#include <vector>

#include "readers/nccl_inspector/records.h"

namespace telltale::nccl_inspector {

class RecordPool {
 public:
  // Empty, with room if there is some.
  std::vector<Record> Take() {
    if (free_.empty()) return {};
    std::vector<Record> records = std::move(free_.back());
    free_.pop_back();
    room_ -= records.capacity();
    return records;
  }
  void Put(std::vector<Record> records) {
    constexpr size_t kMostRoom = size_t{1} << 20;  // records in all
    if (records.capacity() == 0 || room_ + records.capacity() > kMostRoom) return;
    records.clear();
    room_ += records.capacity();
    free_.push_back(std::move(records));
  }

 private:
  std::vector<std::vector<Record>> free_;
  size_t room_ = 0;
};

}  // namespace telltale::nccl_inspector
