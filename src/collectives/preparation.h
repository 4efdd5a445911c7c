#pragma once

// Queries of queries/collectives that need a pass over rollups or records before their SQL: the
// pass leaves temporary tables from which the query's file reads. To make a query one of them, add
// it to the list in preparation.cc; one by slots needs its file in queries/slots.

#include <string>
#include <string_view>

#include "store/store.h"

namespace telltale::collectives {

// The query's own parameters then go to its preparation.
bool IsPrepared(std::string_view query);

// The SQL that a query runs, its preparation's before its own: what Select() is given.
Result<std::string> SqlOf(std::string_view query);

// After Select() on the same connection. `value`: the query's parameter, empty if it was not given.
Status Prepare(Store& store, Connection& connection, std::string_view query,
               const std::string& value);

}  // namespace telltale::collectives
