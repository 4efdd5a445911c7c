#pragma once

// The aggregate function busbw_summary() for SQL: exact quantiles, mean and standard deviation of
// bus bandwidths that are given as counted execution times. DuckDB's own quantiles keep every
// value; this one counts equal times, so that 38 million records take a fraction of the time and
// memory.
//
//   busbw_summary(traffic_bytes DOUBLE, bus_factor DOUBLE, exec_time_us UINTEGER, operations
//   UBIGINT)
//     → STRUCT(n UBIGINT, min, p10, p25, p50, p75, p90, max, mean, stddev DOUBLE)
//
// A value is round(traffic_bytes / 1e9 / (exec_time_us / 1e6) * bus_factor, 6) GB/s, as the views
// compute busbw_gbs, and counts `operations` times. Rows with a NULL, a time of 0 or a bandwidth
// that is not above 0 are left out. Quantiles are values of the data (as quantile_disc gives them),
// stddev is of the sample (NULL for a single value); the result is NULL where nothing was counted.

#include "store/database.h"

namespace telltale {

// Once for each database; all of its connections have the function then.
Status RegisterBusbwSummary(Connection& connection);

}  // namespace telltale
