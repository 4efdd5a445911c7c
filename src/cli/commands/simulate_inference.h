#pragma once

// `telltale simulate inference`, a part of the command `simulate`.

#include "cli/command.h"

namespace telltale::cli {

void AddInferenceSimulation(CLI::App& simulate_command, GlobalOptions& global);

}  // namespace telltale::cli
