#pragma once

// What stands beside the events of a trace and matters to them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace telltale::kineto {

struct TraceMembers {
  std::optional<int64_t> base_ns, rank, world_size;
  std::string schema_version, tool;
  std::string invalid_base;  // a time base that is no whole number
};

// `json` is an object (TraceSplitter::Members); reads up to what is broken in it.
TraceMembers ReadTraceMembers(std::string_view json);

}  // namespace telltale::kineto
