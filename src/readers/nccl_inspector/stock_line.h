#pragma once

// The exact grammar of an operation line as the plugin writes it: this key order, no white space.
// Used to cut a line that the general path has read into the parts that repeat and the parts that
// vary.

#include <optional>
#include <string_view>

namespace telltale::nccl_inspector {

struct StockLine {
  // `{"header":{…},"metadata":{…"dump_timestamp_us":` and, after the digits,
  // `,"hostname":…,"pid":N},`. In a headerless line head is "{" and tail empty.
  std::string_view head, tail;
  // `"coll_perf":{"coll":"AllReduce",…"coll_sn":` (or the same of p2p_perf).
  std::string_view name_part;
  // `,"coll_msg_size_bytes":8192,"coll_exec_time_us":`; of p2p with the peer in front.
  std::string_view size_part;
  // `,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":`.
  std::string_view timing_part;
  // `,"coll_busbw_gbs":`.
  std::string_view bus_part;
  bool is_p2p = false;
  bool has_header = false;
};

// The parts of `line` (without '\n'), or nothing if it is not exactly of the stock form.
std::optional<StockLine> MatchStockLine(std::string_view line);

}  // namespace telltale::nccl_inspector
