#pragma once

// Lines in, rows and counted losses out: the loop over a source's windows that tries the fast path
// first and lets it learn from the general path.

#include <cstdint>
#include <string>
#include <string_view>

#include "readers/nccl_inspector/fast_path.h"
#include "readers/nccl_inspector/line_parser.h"
#include "readers/nccl_inspector/marker_context.h"
#include "readers/nccl_inspector/source_builder.h"

namespace telltale::nccl_inspector {

class SourceParser {
 public:
  // `use_fast_path` false is for tests that compare the two.
  explicit SourceParser(bool use_fast_path = true, RecordPool* pool = nullptr)
      : builder_(pool), general_(builder_), fast_(builder_), use_fast_path_(use_fast_path) {}
  SourceParser(const SourceParser&) = delete;
  SourceParser& operator=(const SourceParser&) = delete;

  // Whole lines with 64 readable bytes behind them; the last one without '\n' only where the source
  // ends. A `cut_line` is the front of one line that is too long.
  void ParseWindow(std::string_view window, bool cut_line);

  // After the last window of the source: accounts for what was announced and did not come.
  void Finish();
  // The same after the last window of a part of it; SourceBuilder::EndDumps comes after the last
  // part.
  void FinishPart();

  SourceBuilder& builder() { return builder_; }
  uint64_t fast_lines() const { return fast_lines_; }

 private:
  void ParseLine(std::string_view line, bool complete);
  void CountLoss(const LossKind& kind);

  SourceBuilder builder_;
  LineParser general_;
  FastPath fast_;
  MarkerContext marker_;
  bool use_fast_path_;
  uint64_t line_number_ = 0;
  uint64_t fast_lines_ = 0;
};

// Where one file may be cut so that the parts can be read apart from each other: in front of a line
// with a header, and from v4.1 on in front of a dump_stats line (operations may have no header of
// their own).
class CutPoints {
 public:
  // `head` is the start of the file.
  explicit CutPoints(std::string_view head);
  bool IsCutPoint(std::string_view line) const;

 private:
  bool only_markers_ = false;
};

}  // namespace telltale::nccl_inspector
