#pragma once

#include <initializer_list>

#include "store/database.h"

namespace telltale {

// Removes a source and its losses, and its rows of these tables, each of which has a column
// `source`. In the transaction that is open on the connection.
Status RemoveSource(Connection& connection, int64_t source,
                    std::initializer_list<const char*> tables);

// The samples of a source's metrics, which name it only by their series: before metric_series.
Status RemoveMetricSamples(Connection& connection, int64_t source);

}  // namespace telltale
