#pragma once

// When what ranks do by their scripts happens. Each rank's host goes through its script; the GPU
// works off what was launched, in order; a collective ends on no rank before the last rank has
// started it, and its transfer has taken its time after that.

#include <cstdint>
#include <vector>

#include "simulate/inference_options.h"
#include "simulate/inference_times.h"

namespace telltale::simulate {

class ScriptTimer {
 public:
  explicit ScriptTimer(const InferenceOptions& options) : options_(options) {}

  // Sets the times of the ranks' spans, and what the ranks are ready for after them. All scripts
  // must have the same collectives.
  void Walk(uint64_t step, std::vector<RankState>& states, std::vector<RankTimes>& times);

 private:
  struct Cursor {
    size_t next = 0;           // span
    std::vector<size_t> open;  // spans
    size_t collective = 0;     // span that launched the last one
  };

  // True after the launch of a collective, false at the end of the script.
  bool WalkToCollective(uint32_t rank, RankState& state, RankTimes& times);
  void CloseSpans(uint32_t rank, size_t next, RankState& state, RankTimes& times);
  void Call(uint32_t rank, size_t span, RankState& state, RankTimes& times);
  void EndTogether(uint64_t number, std::vector<RankState>& states, std::vector<RankTimes>& times);
  // `ns` as it happens to be this time.
  int64_t Jittered(uint64_t draw, uint32_t rank, size_t span, uint32_t ns) const;

  const InferenceOptions& options_;
  uint64_t step_ = 0;
  std::vector<Cursor> cursors_;  // by rank
  uint64_t sequence_ = 0;        // of collectives
};

}  // namespace telltale::simulate
