#pragma once

// The queries of queries/ by name, with what their head says of them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace telltale {

// A line "$1 name: text" of a head. "(required)" in its text makes it one that must be given.
struct QueryParameter {
  std::string name;
  bool required = false;
};

struct QueryHead {
  std::string name;                        // "collectives/summary"
  std::string question;                    // without the word "Question:"
  std::string text;                        // the whole head, for help, without comment marks
  std::vector<QueryParameter> parameters;  // $1, $2 …
};

// The SQL of a query (its whole file). A name that is not there is a defect of the caller: an
// Error.
Result<std::string> QueryText(std::string_view name);

// Heads of all queries whose name starts with `prefix`, sorted by name.
std::vector<QueryHead> QueryHeads(std::string_view prefix);

}  // namespace telltale
