#pragma once

// The fast path for operation lines of the stock form (stock_line.h). It knows only bytes whose
// meaning the general path has decided: the head and tail of a line (header and metadata around the
// time) lead to a communicator rank, the parts with operation, size and timing source to a series.
// What remains is five numbers in fixed places. Any other byte anywhere, and the line goes to the
// general path.
//
// Which bytes come next and how many digits a number has is guessed from the lines before. With
// right guesses nothing that is read decides where to read on, and the processor begins with the
// next line before it is through with this one.

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/expected_text.h"
#include "base/guessed_digits.h"
#include "readers/nccl_inspector/line_parser.h"
#include "readers/nccl_inspector/source_builder.h"
#include "readers/nccl_inspector/stock_line.h"

namespace telltale::nccl_inspector {

class FastPath {
 public:
  explicit FastPath(SourceBuilder& builder) : builder_(builder) {}

  // Reads the line at `begin` if it is known; returns the byte behind its '\n', or nullptr.
  const char* TryLine(const char* begin, const char* end, uint64_t line_number,
                      MarkerContext& marker) {
    if (end - begin >= kLongestLine) [[likely]]
      return TryWithRoom(begin, line_number, marker);
    return TryNearEnd(begin, end, line_number, marker);
  }

  // Takes in what the general path decided about a line. As for it, 64 bytes behind the line are
  // readable.
  void Learn(std::string_view line, const LineOutcome& outcome);

 private:
  // No more bytes are looked at for a line.
  static constexpr ptrdiff_t kLongestLine = 2048;

  struct Operation {
    ExpectedText name_part, timing_part, bus_part;
  };
  // An operation with a size and, for p2p, a peer.
  struct Shape {
    ExpectedText size_part;
    uint32_t operation = 0;
    uint32_t series = 0;
    uint64_t message_bytes = 0;
    uint64_t peer = 0;
    double traffic_gb = 0;
    double bus_factor = 0;
    // How many digits there were last time.
    DigitsGuess sequence_digits = 1, time_digits = 1, algobw_digits = 1, busbw_digits = 1;
  };
  // All operations of one communicator rank.
  struct RankShapes {
    std::vector<Operation> operations;
    std::vector<Shape> shapes;
    std::unordered_multimap<uint64_t, uint32_t> by_size;
    // The shape that followed the last time, by a hash of the five last shapes.
    std::array<uint32_t, 512> followed{};
    uint64_t history = 0;

    uint32_t& Next() { return followed[(history * 0x9e3779b97f4a7c15u) >> 55]; }
    void Saw(uint32_t shape) { history = history << 12 | shape; }
  };
  struct Template {
    ExpectedText head, tail;
    RankShapes* rank = nullptr;
    uint32_t next = 0;  // the template of the line that followed last time
  };
  struct Numbers {
    uint64_t sequence = 0, exec_time_us = 0, algobw = 0, busbw = 0;
  };

  const char* TryNearEnd(const char* begin, const char* end, uint64_t line_number,
                         MarkerContext& marker);
  const char* TryWithRoom(const char* begin, uint64_t line_number, MarkerContext& marker);
  const Template* FindTemplate(const char* begin);
  RankShapes* RankOfMarker(const MarkerContext& marker, PayloadKind kind,
                           uint64_t& dump_timestamp_us) const;
  bool ReadTimestamp(const char*& at, uint64_t& timestamp_us);
  const char* TryPerf(const char* at, ExpectedText::Difference difference, RankShapes& rank,
                      uint64_t line_number, uint64_t dump_timestamp_us);
  static const char* Match(const char* at, ExpectedText::Difference difference,
                           const Operation& operation, Shape& shape, Numbers& numbers);
  static Shape* FindShape(const char* at, RankShapes& rank);
  RankShapes& ShapesOfRank(uint32_t communicator_rank);
  void LearnTemplate(const StockLine& stock, RankShapes& rank);
  static uint32_t LearnOperation(const StockLine& stock, RankShapes& rank);

  SourceBuilder& builder_;
  std::vector<Template> templates_;
  uint32_t last_template_ = 0;
  std::vector<std::unique_ptr<RankShapes>> ranks_;  // by communicator rank
  // The first eight digits of the last time of sixteen, as text and as number; they change every
  // 100 seconds.
  uint64_t time_front_text_ = 0x3030303030303031u;
  uint64_t time_front_ = 10000000;
  std::array<char, 2 * kLongestLine> end_of_window_;
};

}  // namespace telltale::nccl_inspector
