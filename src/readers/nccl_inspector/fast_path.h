#pragma once

// The fast path for operation lines of the stock form (stock_line.h). It knows only bytes whose
// meaning the general path has decided: the head and tail of a line (header and metadata around the
// time) lead to a communicator rank, the name and timing parts with size and peer to a series. What
// remains is six numbers in fixed places. Any other byte anywhere, and the line goes to the general
// path.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "readers/nccl_inspector/line_parser.h"
#include "readers/nccl_inspector/source_builder.h"

namespace telltale::nccl_inspector {

class FastPath {
 public:
  explicit FastPath(SourceBuilder& builder) : builder_(builder) {}

  // Reads the line at `begin` if it is known; returns the byte behind its '\n', or nullptr. At
  // least LineWindow::kPadding bytes behind `end` are readable.
  const char* TryLine(const char* begin, const char* end, uint64_t line_number,
                      MarkerContext& marker);

  // Takes in what the general path decided about a line.
  void Learn(std::string_view line, const LineOutcome& outcome);

 private:
  struct Shape {
    std::string name_part, timing_part;
    bool is_p2p = false;
    uint64_t message_bytes = 0;
    uint64_t peer = 0;
    uint32_t series = 0;
    uint32_t next = 0;  // the shape that followed last time
    double traffic_gb = 0;
    double bus_factor = 0;
  };
  // All operations of one communicator rank.
  struct RankShapes {
    std::vector<Shape> shapes;
    std::unordered_multimap<uint64_t, uint32_t> by_size;
    uint32_t previous = 0;
    uint32_t predicted = 0;
  };
  struct Template {
    std::string head, tail;
    uint32_t rank_shapes = 0;
    uint32_t next = 0;  // the template of the line that followed last time
  };

  const Template* FindTemplate(const char* begin);
  uint32_t ShapesOfRank(uint32_t communicator_rank);
  Shape* FindShape(RankShapes& shapes, const std::string& name_part, uint64_t message_bytes,
                   uint64_t peer, const char* timing, const char* end);
  const char* TryPerf(const char* at, const char* end, RankShapes& shapes, uint64_t line_number,
                      int64_t dump_timestamp_us);

  SourceBuilder& builder_;
  std::vector<Template> templates_;
  uint32_t last_template_ = 0;
  std::deque<RankShapes> rank_shapes_;
  std::unordered_map<uint32_t, uint32_t> shapes_of_rank_;
};

}  // namespace telltale::nccl_inspector
