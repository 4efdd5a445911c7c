#pragma once

// Answers of `telltale collectives` that an ingest leaves in a large store: the whole answer to a
// question without filters, exact, and used only while the store's sources are those it was made
// from. A question with filters is answered anew, and so is every question in a small store, where
// that takes no longer than reading.

#include <optional>
#include <string_view>

#include "store/store.h"

namespace telltale::collectives {

// Below so many records no answer is kept: finding them takes some 50 ms.
constexpr int64_t kFewestRecordsToKeep = 8'000'000;

// Brings the kept answers up to date, or takes them away where they are not worth it; changes
// nothing where they are up to date.
Status KeepAnswers(Store& store, int64_t fewest_records = kFewestRecordsToKeep);

// The answer to `query` without filters and parameters, if one is kept and up to date.
Result<std::optional<Table>> KeptAnswer(Connection& connection, std::string_view query);

}  // namespace telltale::collectives
