#include "readers/remove_source.h"

#include <array>

namespace telltale {

Status RemoveSource(Connection& connection, int64_t source,
                    std::initializer_list<const char*> tables) {
  const std::array<Cell, 1> parameters = {Cell(source)};
  const auto remove = [&](const char* table) {
    return connection.Run(fmt::format("DELETE FROM {} WHERE source = $1", table), parameters);
  };
  for (const char* const table : tables) TELLTALE_TRY(remove(table));
  TELLTALE_TRY(remove("ingest_loss"));
  return remove("source");
}

Status RemoveMetricSamples(Connection& connection, int64_t source) {
  const std::array<Cell, 1> parameters = {Cell(source)};
  return connection.Run(
      "DELETE FROM metric_sample WHERE series IN "
      "(SELECT series FROM metric_series WHERE source = $1)",
      parameters);
}

}  // namespace telltale
