#pragma once

// Reads an Nsight Systems export (SQLite, schemas of 2022 to 2026) into a TraceData. Tables are
// absent when empty, and columns come and go with versions; facts about each are where it is read.
// Never reads what holds the recorded environment (META_DATA_CAPTURE, TARGET_INFO_SYSTEM_ENV).

#include "readers/nsight/sqlite_file.h"
#include "readers/trace/trace_data.h"

namespace telltale::nsight {

Result<trace::TraceData> LoadExport(SqliteFile& file);

// "aten::view, op_id = 314290" → "aten::view" and 314290: PyTorch's NVTX texts carry numbers that
// make each different.
std::string_view NameOfNvtxText(std::string_view text, uint64_t& op_id);

// "cudaLaunchKernel_v7000" → "cudaLaunchKernel".
std::string_view WithoutApiVersion(std::string_view name);

}  // namespace telltale::nsight
