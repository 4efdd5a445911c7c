#include "readers/loss_effects.h"

#include <utility>

namespace telltale {

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
      {"year_assumed", "times without a year may be a whole number of years off"},
      {"date_assumed", "times without a date may be a whole number of days off"},
      {"zone_assumed", "times without a zone are off by the zone, if it is not that of --log-zone"},
      {"time_since_start", "lines that are on no timeline: when the host started is not known"},
      {"too_many_processes", "who wrote these lines is not kept"},
      {"cut_line", "what stands behind the first MiB of a line is missing"},
      {"not_utf8", "bytes are written as \\xNN; nothing is lost"},
      {"invalid_line", "lines that are not of the format are left out"},
      {"invalid_span", "spans without ids or times are left out"},
      {"invalid_log_record", "log records without content are left out"},
      {"duplicate_span", "spans that came twice count once"},
      {"unread_metrics", "metrics of OpenTelemetry are not read"},
      {"too_many_series", "metrics beyond what one file may have are left out"},
      {"repaired_line", "bytes or numbers that JSON does not have were rewritten"},
      {"left_out_attribute", "attributes that may hold secrets or command lines are not kept"},
      {"dropped_attribute", "attributes beyond what a span may have are left out"},
      {"invalid_attribute", "attributes without a name or value are left out"},
      {"dropped_event", "events of spans beyond what is kept are left out"},
      {"dropped_by_producer", "the producer itself had dropped attributes, events or links"},
      {"unread_link", "links between spans are not read"},
      {"invalid_id", "ids that are no ids: the span's place in its trace may be lost"},
      {"negative_span", "spans that end before they begin"},
      {"exemplar", "exemplars of metrics are not read"},
      {"file_time", "samples have the time of the file, not of the scrape"},
      {"unknown_time", "samples that are on no timeline"},
      {"damaged_compression", "what lies behind the damage is missing"},
      {"invalid_entry", "entries of the flight recorder are left out"},
      {"empty_dump", "a rank that could not write: evidence in itself"},
      {"unknown_group", "how far the rank got in these groups is not known"},
      {"profiler_diagnostic", "the profiler itself warned: see the detail"},
  };
  for (const auto& [name, effect] : kEffects) {
    if (name == kind) return effect;
  }
  return {};
}

}  // namespace telltale
