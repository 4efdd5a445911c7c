#pragma once

// `telltale collectives findings`, which has its own options beside those of `telltale
// collectives`.

#include <string>

#include "cli/command.h"

namespace telltale::cli {

struct FindingsCommand {
  std::string run;
  bool fail_on_finding = false;
};

void RunFindings(const FindingsCommand& options, const GlobalOptions& global);

}  // namespace telltale::cli
