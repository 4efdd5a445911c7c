#pragma once

// Prefixes of NCCL and RCCL (NCCL_DEBUG).
//   host:pid:tid [0] NCCL INFO                                                    all versions
//   [2026-05-19 22:35:49] host:pid:tid [0] misc/argcheck.cc:41 NCCL WARN          from 2.26 on

#include "readers/log/line_prefix.h"

namespace telltale::nccl_log {

bool PeelNccl(std::string_view& rest, log::LinePrefix& prefix);

}  // namespace telltale::nccl_log
