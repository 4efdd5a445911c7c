#pragma once

// Reads an Nsight Systems export (SQLite, schemas of 2022 to 2026) into a TraceData. Tables are
// absent when empty; large ones are read in pieces on several threads, and come out as if read by
// one. Never reads what holds the recorded environment (META_DATA_CAPTURE, TARGET_INFO_SYSTEM_ENV).

#include "readers/nsight/sqlite_file.h"
#include "readers/trace/trace_data.h"

namespace telltale::nsight {

Result<trace::TraceData> LoadExport(SqliteFile& file, unsigned threads);

}  // namespace telltale::nsight
