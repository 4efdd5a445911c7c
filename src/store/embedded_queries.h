#pragma once

// The files of queries/, built into the library by cmake/embed_queries.cmake. To add a query, add
// its file: nothing else has to be listed.

#include <span>
#include <string_view>

namespace telltale {

struct EmbeddedQuery {
  // The path below queries/ without ".sql": "late_ranks", "collectives/by_size".
  std::string_view name;
  // The whole file, byte for byte.
  std::string_view text;
};

// All queries, sorted by name. The views are valid for the whole run.
std::span<const EmbeddedQuery> EmbeddedQueries();

}  // namespace telltale
