#include "cli/store_access.h"

#include <array>

#include "base/json_text.h"
#include "cli/output.h"
#include "collectives/coverage.h"
#include "readers/log/template_text.h"
#include "store/text_function.h"

namespace telltale::cli {
namespace {

Store* kept = nullptr;

}  // namespace

void KeepToTheEnd(std::unique_ptr<Store> store) { kept = store.release(); }
bool IsKeptToTheEnd() { return kept != nullptr; }

OpenStore OpenForReading(const GlobalOptions& global, bool external_access) {
  StoreOptions options;
  options.external_access = external_access;
  OpenStore opened;
  opened.store = ValueOrThrow(Store::Open(global.store, options));
  opened.connection = ValueOrThrow(opened.store->Connect());
  OkOrThrow(RegisterTextFunction(*opened.connection, "log_parameters", log::TemplateParameters));
  return opened;
}

void RequireRun(Connection& connection, const std::string& run) {
  const std::array<Cell, 1> parameters = {Cell(run)};
  if (ValueOrThrow(
          connection.QueryInteger("SELECT count(*) FROM run WHERE name = $1", parameters)) > 0) {
    return;
  }
  throw CommandFailure(
      fmt::format("there is no run {}; `telltale sources` lists them", Visible(run)));
}

std::string TellCoverage(Connection& connection, const GlobalOptions& global,
                         const std::string& run) {
  const std::vector<std::string> lines = ValueOrThrow(collectives::CoverageLines(connection, run));
  std::string json = ",\"coverage\":[";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (global.format != Format::kJson && !global.quiet) {
      fmt::print(stderr, "{}\n", Visible(lines[i]));
    }
    json += (i > 0 ? "," : "") + JsonString(lines[i]);
  }
  return json + "]";
}

}  // namespace telltale::cli
