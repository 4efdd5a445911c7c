#pragma once

// All subcommands, in the order of the help.

#include "cli/command.h"

namespace telltale::cli {

void AddIngestCommand(CLI::App& app, GlobalOptions& global);
void AddSourcesCommand(CLI::App& app, GlobalOptions& global);
void AddLossesCommand(CLI::App& app, GlobalOptions& global);
void AddCollectivesCommand(CLI::App& app, GlobalOptions& global);
void AddChainCommand(CLI::App& app, GlobalOptions& global);
// kernels, ops, gaps, overlap
void AddTraceCommands(CLI::App& app, GlobalOptions& global);
// requests, steps, logs, clocks
void AddRequestCommands(CLI::App& app, GlobalOptions& global);
void AddTokensCommand(CLI::App& app, GlobalOptions& global);
void AddEventsCommand(CLI::App& app, GlobalOptions& global);
void AddRanksCommand(CLI::App& app, GlobalOptions& global);
void AddCompareCommand(CLI::App& app, GlobalOptions& global);
void AddSqlCommand(CLI::App& app, GlobalOptions& global);
void AddExportCommand(CLI::App& app, GlobalOptions& global);
void AddSimulateCommand(CLI::App& app, GlobalOptions& global);
void AddDoctorCommand(CLI::App& app, GlobalOptions& global);

inline constexpr void (*kCommands[])(CLI::App&, GlobalOptions&) = {
    AddIngestCommand,   AddSourcesCommand,  AddLossesCommand,  AddCollectivesCommand,
    AddRequestCommands, AddChainCommand,    AddTraceCommands,  AddTokensCommand,
    AddEventsCommand,   AddRanksCommand,    AddCompareCommand, AddSqlCommand,
    AddExportCommand,   AddSimulateCommand, AddDoctorCommand,
};

}  // namespace telltale::cli
