#pragma once

// The store as most commands use it: opened read-only, beside which the data's coverage is told.

#include <memory>
#include <string>

#include "cli/command.h"
#include "store/store.h"

namespace telltale::cli {

struct OpenStore {
  std::unique_ptr<Store> store;
  std::unique_ptr<Connection> connection;
};

OpenStore OpenForReading(const GlobalOptions& global, bool external_access = false);

// Keeps a store open until the process ends, which then ends at once (IsKeptToTheEnd()): to take
// DuckDB apart piece by piece takes longer. All must have been written to the file (a checkpoint).
void KeepToTheEnd(std::unique_ptr<Store> store);
bool IsKeptToTheEnd();

// Fails if the store has no run of this name: an answer about it would be an empty one.
void RequireRun(Connection& connection, const std::string& run);

// Says on standard error what the answer rests on, if data is missing; and gives it as a JSON
// member
// `,"coverage":[…]` for the answer.
std::string TellCoverage(Connection& connection, const GlobalOptions& global,
                         const std::string& run);

}  // namespace telltale::cli
