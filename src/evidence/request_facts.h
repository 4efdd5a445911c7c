#pragma once

// What a run's spans and logs tell of its requests.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/request_ids.h"
#include "evidence/step_requests.h"
#include "store/database.h"

namespace telltale::evidence {

struct RequestFacts {
  std::string engine;
  std::string host;  // whose clock the times are of; empty where nothing says it
  // scheduled_ns: not before this.
  std::optional<int64_t> arrival_ns, scheduled_ns, first_token_ns, end_ns;
  // From being scheduled to the first and to the last token, as the engine measured it.
  std::optional<int64_t> prefill_ns, inference_ns;
  // When the log that tells of it ends.
  std::optional<int64_t> log_end_ns;
  int64_t time_error_ns = 0;  // times may be later by up to this
  std::optional<int64_t> prompt_tokens, output_tokens;
  int64_t sequences = 1;
  bool has_details = false;  // a span of the engine itself, rather than of what stands before it
  std::string status;        // finished, aborted, failed; empty where nothing tells of an end
  bool in_span = false, in_log = false, in_capture = false;
  // SGLang's spans tell of each stage.
  std::vector<TimeRange> context_stages, generation_stages;
};

struct RunRequests {
  RequestIds ids;
  std::vector<RequestFacts> facts;  // by the number of the id

  RequestFacts& Of(std::string_view id);
};

// Of spans and of lines of logs.
Result<RunRequests> LoadRequests(Connection& connection, int64_t run);

// When the request can have been in steps; `step_ns`: how long steps take.
RequestWindow WindowOf(const RequestFacts& facts, int64_t step_ns);

}  // namespace telltale::evidence
