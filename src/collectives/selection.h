#pragma once

// The filters of `telltale collectives`: each is declared once, below, and becomes an option, a
// line of help and a session variable that queries/selection/*.sql read. Those files make temporary
// tables and views over the store (selected_cell, selected_series, selected_count, selected_time,
// selected_record …), from which every query of queries/collectives starts. To add a filter, add it
// to the list, to selection/filters.sql, and to series.sql or cells.sql.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace telltale::collectives {

enum class FilterKind {
  kText,       // names, compared as they are
  kOperation,  // names, compared without regard to case
  kType,       // communicator types; hca-only is nic-only
  kNumber,     // whole numbers
  kSize,       // one size or range: 2M, 8192-64K
  kTime,       // one time: ISO 8601 (UTC unless it says otherwise) or microseconds since 1970
  kCount,      // one whole number, at least 1
};

struct Filter {
  const char* option;    // of the command line
  const char* variable;  // of the session; two for kSize: least_ and most_ before it
  FilterKind kind;
  const char* help;
  bool is_place = false;  // tells ranks or communicators of a run apart
};

std::span<const Filter> Filters();

// What was asked for: the values of each filter, in the order of Filters(). A filter without values
// leaves everything in; one with several leaves what fits any of them.
using FilterValues = std::vector<std::vector<std::string>>;

// Checks the values and makes the temporary tables and views on this connection that `sql` reads;
// all of them if it is empty. A value that cannot be understood is an error that names the option.
Status Select(Connection& connection, const FilterValues& values, std::string_view sql = {});

// Bytes from "4096", "64K", "2M", "1G", "1T" (binary units, also written KiB or KB).
std::optional<uint64_t> BytesOf(std::string_view text);

}  // namespace telltale::collectives
