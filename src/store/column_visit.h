#pragma once

// Visits the columns of a large table a chunk at a time inside DuckDB's own scan, on all of its
// threads: where every row must be looked at, and handing rows out one after another would cost
// more than the scan.

#include <functional>
#include <span>
#include <string>

#include "store/bulk_insert.h"
#include "store/database.h"

namespace telltale {

struct VisitedColumn {
  const char* name;
  ColumnType type;
};

// Columns of a chunk: column i starts at columns[i] and holds values of its type. Each worker is
// one thread; workers come at the same time.
using OnVisit =
    std::function<void(size_t worker, std::span<const void* const> columns, size_t rows)>;

// How many workers a visit on this connection has at most.
Result<size_t> VisitWorkers(Connection& connection);

// Visits all rows that fit `where`, which is an SQL condition that leaves out what need not be read
// (rows beside it may be visited too). The columns must not hold NULL. An exception of `on_visit`
// ends the visit with its text.
Status VisitColumns(Connection& connection, const std::string& table, const std::string& where,
                    std::span<const VisitedColumn> columns, const OnVisit& on_visit);

}  // namespace telltale
