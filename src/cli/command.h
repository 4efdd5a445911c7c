#pragma once

// A subcommand of `telltale`. To add one:
//   1. write commands/<name>.cc with a function `void Add<Name>Command(CLI::App& app,
//   GlobalOptions&)`
//      that adds a subcommand with its options, help and examples, and sets its callback;
//   2. name the function in commands/list.h.
// A callback writes its answer to standard output, says everything else on standard error, and
// throws CommandFailure for an expected failure; main() prints it and exits with its code.

#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace telltale::cli {

enum class Format { kTable, kJson, kCsv, kMarkdown };

struct GlobalOptions {
  std::string store = "telltale.duckdb";
  Format format = Format::kTable;
  bool quiet = false;

  // True when progress and notes may be drawn on standard error.
  bool ShowProgress() const;
};

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitGate = 3;

class CommandFailure : public std::runtime_error {
 public:
  explicit CommandFailure(const std::string& message, int exit_code = kExitFailed)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// The value of a result, or its error thrown as a CommandFailure.
template <typename T>
T ValueOrThrow(Result<T> result) {
  if (!result) throw CommandFailure(result.error().message);
  return std::move(result).value();
}
inline void OkOrThrow(const Status& status) {
  if (!status) throw CommandFailure(status.error().message);
}

}  // namespace telltale::cli
