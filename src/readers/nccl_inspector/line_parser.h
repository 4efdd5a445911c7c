#pragma once

// The general path: any JSON line, keys in any order, unknown keys, every format version. It
// decides what a line is; the fast path only repeats its decisions on bytes that it has seen it
// decide.

#include <cstdint>
#include <memory>
#include <string_view>

#include "readers/nccl_inspector/marker_context.h"
#include "readers/nccl_inspector/source_builder.h"

namespace telltale::nccl_inspector {

// What became of a line, for the fast path to learn from.
struct LineOutcome {
  const LossKind* loss = nullptr;  // nullptr: the line is a row
  bool is_operation = false;       // a coll_perf or p2p_perf row without event traces
  uint32_t communicator_rank = 0;
  uint32_t series = 0;
};

// Formats this reader was written for: v4.<minor> with minor up to this.
constexpr int kNewestMinor = 4;

class LineParser {
 public:
  explicit LineParser(SourceBuilder& builder);
  ~LineParser();

  // Reads one line without its '\n'; simdjson needs 64 readable bytes behind it. A row goes to the
  // builder; a loss is returned for the caller to count.
  LineOutcome Parse(std::string_view line, uint64_t line_number, MarkerContext& context);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace telltale::nccl_inspector
