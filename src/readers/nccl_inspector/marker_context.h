#pragma once

// Formats v4.3 and v4.4 write header and metadata once, in the dump_stats line; the next
// coll_records + p2p_records + proxy_records lines belong to it. The counts are a budget: a line
// beyond it has lost its own marker and must not be given to the wrong communicator.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace telltale::nccl_inspector {

enum class PayloadKind { kCollective = 0, kP2p = 1, kProxy = 2 };

class MarkerContext {
 public:
  void Start(uint32_t communicator_rank, std::optional<uint64_t> dump_timestamp_us,
             std::array<uint64_t, 3> announced, bool headerless_format) {
    communicator_rank_ = communicator_rank;
    dump_timestamp_us_ = dump_timestamp_us;
    left_ = announced;
    total_left_ = announced[0] + announced[1] + announced[2];
    headerless_format_ = headerless_format;
    own_headers_seen_ = false;
    closed_ = false;
  }

  // Whether a headerless line of this kind belongs to the marker.
  bool CanTake(PayloadKind kind) const {
    return left_[static_cast<size_t>(kind)] > 0 && total_left_ > 0 && !closed_;
  }

  // The same, and takes the line from the budget.
  bool Take(PayloadKind kind) {
    if (!CanTake(kind)) return false;
    --left_[static_cast<size_t>(kind)];
    --total_left_;
    return true;
  }

  // A line that could not be read: it was one of the announced ones. But where it holds the next
  // marker (a writer that fails inside a batch leaves half a line, and the next marker comes right
  // behind it), what follows is that marker's, whose communicator is not known.
  void TakeUnreadable(std::string_view line) {
    if (line.find(R"("dump_stats")") != std::string_view::npos) {
      closed_ = true;
    } else if (total_left_ > 0) {
      --total_left_;
    }
  }

  // A payload line with a header of its own (v4.1, v4.2, early v4.3) needs no marker.
  void SawOwnHeader() { own_headers_seen_ = true; }

  // Announced lines that did not come, once the next marker or the end is reached.
  uint64_t Missing() const { return headerless_format_ && !own_headers_seen_ ? total_left_ : 0; }

  uint32_t communicator_rank() const { return communicator_rank_; }
  const std::optional<uint64_t>& dump_timestamp_us() const { return dump_timestamp_us_; }

 private:
  uint32_t communicator_rank_ = 0;
  std::optional<uint64_t> dump_timestamp_us_;
  std::array<uint64_t, 3> left_{};
  uint64_t total_left_ = 0;
  bool headerless_format_ = false;
  bool own_headers_seen_ = false;
  bool closed_ = false;
};

}  // namespace telltale::nccl_inspector
