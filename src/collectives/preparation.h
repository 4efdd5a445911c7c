#pragma once

// Queries of queries/collectives that need a pass over rollups or records before their SQL: the
// pass leaves temporary tables from which the query's file reads. To make a query one of them, add
// it to the list in preparation.cc; one by slots needs its file in queries/slots.

#include <string>
#include <string_view>

#include "collectives/selection.h"
#include "store/store.h"

namespace telltale::collectives {

// Select() for a query, without what it does not read.
Status SelectFor(Connection& connection, const FilterValues& values, std::string_view query);

// After SelectFor() on the same connection: the answer. `parameters` are the query's, NULL for
// those that are not given.
Result<Table> Ask(Store& store, Connection& connection, std::string_view query,
                  std::span<const Cell> parameters);

// What Ask() does before the query's own SQL; nothing for most. `value`: the query's parameter,
// empty if it was not given.
Status Prepare(Store& store, Connection& connection, std::string_view query,
               const std::string& value);

}  // namespace telltale::collectives
