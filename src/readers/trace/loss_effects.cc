#include "readers/trace/loss_effects.h"

#include <utility>

namespace telltale::trace {

std::string_view LossEffect(std::string_view kind) {
  static constexpr std::pair<std::string_view, std::string_view> kEffects[] = {
      {"invalid_event", "events that are not JSON objects are left out"},
      {"broken_json", "events around broken text are left out; calls and kernels may be missing"},
      {"cut_last_event", "the file ends within an event: what came later is missing"},
      {"missing_field", "events without a phase or time are left out"},
      {"invalid_time", "events whose time makes no sense are left out"},
      {"unknown_phase", "events of a phase that is not read are left out"},
      {"unknown_event_type", "NVTX events of a type that is not read are left out"},
      {"unmatched_edge", "begins without an end, or ends without a begin, are left out"},
      {"duplicate_event", "events that were in the file twice count once"},
      {"no_device_timestamp", "recorded CUDA events without a time are left out"},
      {"table_not_read", "rows of tables that this version does not read"},
      {"text_behind_trace", "what follows the first trace in the file was not read"},
      {"cut_file", "the profile ends before its time: times and counts are too low"},
      {"broken_members", "time base and rank may be missing: times may be relative"},
      {"no_session_start", "times count from the start of the session, not from 1970"},
      {"output_without_text", "what the processes wrote is not in the export"},
      {"invalid_base_time", "what times are relative to cannot be read: they are as in the file"},
      {"damaged_file", "what lies behind the damage is missing"},
      {"gpu_work_without_launch",
       "GPU work whose call is not in the profile: it has no place in a call chain"},
      {"gpu_work_without_correlation", "GPU work without an id: it has no place in a call chain"},
      {"repeated_correlation", "calls that share an id: their GPU work is with the first"},
      {"wait_without_record", "what streams waited for is not in the profile"},
      {"unfinished_event", "events without an end have no duration and no children"},
      {"graph_without_kernels", "kernels in graphs were not recorded: their times are missing"},
      {"failed_call", "CUDA calls that returned an error"},
      {"profiler_diagnostic", "the profiler itself warned: see the detail"},
  };
  for (const auto& [name, effect] : kEffects) {
    if (name == kind) return effect;
  }
  return {};
}

}  // namespace telltale::trace
