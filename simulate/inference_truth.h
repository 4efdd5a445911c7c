#pragma once

// The truth about a simulated serving engine, as JSON, for tests and evaluation; no reader opens
// it.
//
//   t0_ns, end_ns   the recording, true nanoseconds since 1970, as all times whose name does not
//   say
//                   local
//   hosts           name, offset_ns, drift_ppm, t0_ns: what the host's clock shows at true time t
//   is
//                   t + offset_ns + (t - t0_ns) * drift_ppm / 1e6
//   ranks           rank, host (index), pid, file (relative to the folder)
//   requests        by arrival: id, internal_id, arrival_ns, first_token_ns (null: none), end_ns
//                   (null: not within the recording), status (finished, aborted, unfinished),
//                   prompt and output tokens, recomputed_tokens, preemptions, has_span
//   steps           step, name, phase (prefill, decode, mixed), traced (by rank 0), decided_ns,
//   start_ns and
//                   end_ns of rank 0's range, the same on its clock (local_start_ns, local_end_ns),
//                   done_ns, and the requests in it: [internal_id, tokens]
//
// A finished request's tokens over all steps are its prompt tokens + output tokens - 1 (the last
// one is sampled, but never an input) + recomputed tokens.

#include <string>
#include <vector>

#include "simulate/host_clock.h"
#include "simulate/inference_run.h"

namespace telltale::simulate {

// `trace_files` by rank, relative to the folder.
std::string InferenceTruthJson(const InferenceOptions& options,
                               const std::vector<InferenceHost>& hosts,
                               const std::vector<std::string>& trace_files,
                               const InferenceRun& run);

}  // namespace telltale::simulate
