#include "readers/nccl_inspector/source_parser.h"

#include <cstring>

namespace telltale::nccl_inspector {

void SourceParser::ParseWindow(std::string_view window, bool cut_line) {
  if (cut_line) {
    ++line_number_;
    marker_.TakeUnreadable(window);
    CountLoss(kLineTooLong);
    builder_.data().lines = line_number_;
    return;
  }
  const char* at = window.data();
  const char* const end = at + window.size();
  while (at < end) {
    if (use_fast_path_) {
      if (const char* behind = fast_.TryLine(at, end, line_number_ + 1, marker_)) {
        ++line_number_;
        ++fast_lines_;
        ++builder_.data().rows;
        at = behind;
        continue;
      }
    }
    const void* newline = std::memchr(at, '\n', static_cast<size_t>(end - at));
    const char* const line_end = newline != nullptr ? static_cast<const char*>(newline) : end;
    ParseLine(std::string_view(at, static_cast<size_t>(line_end - at)), newline != nullptr);
    at = newline != nullptr ? line_end + 1 : end;
  }
  builder_.data().lines = line_number_;
}

void SourceParser::ParseLine(std::string_view line, bool complete) {
  ++line_number_;
  const LineOutcome outcome = general_.Parse(line, line_number_, marker_);
  if (outcome.loss == nullptr) {
    ++builder_.data().rows;
    if (use_fast_path_ && complete) fast_.Learn(line, outcome);
    return;
  }
  if (complete || outcome.loss != &kInvalidJson) {
    CountLoss(*outcome.loss);
    return;
  }
  CountLoss(kCutLastLine);
}

void SourceParser::CountLoss(const LossKind& kind) { builder_.AddLoss(kind, 1, line_number_); }

void SourceParser::Finish() {
  FinishPart();
  builder_.EndDumps();
}

void SourceParser::FinishPart() {
  if (const uint64_t missing = marker_.Missing(); missing > 0) {
    builder_.AddLoss(kIncompleteDump, missing, line_number_, marker_.communicator_rank());
  }
}

CutPoints::CutPoints(std::string_view head)
    : only_markers_(head.find(R"("inspector_output_format_version":"v4.0")") ==
                    std::string_view::npos) {}

bool CutPoints::IsCutPoint(std::string_view line) const {
  if (!line.starts_with(R"({"header":{)")) return false;
  return !only_markers_ || line.find(R"("dump_stats":{)") != std::string_view::npos;
}

}  // namespace telltale::nccl_inspector
