#pragma once

// Environment variables out of text: what people keep them in, and what they are run with.

#include <string_view>

#include "collectives/inspector_settings.h"

namespace telltale::cli {

struct SettingsText {
  collectives::SettingValues values;  // NCCL_ and RCCL_ variables only; the last of a name counts
  bool is_environment = false;        // the text was a process's environment, not a script
};

// Finds NAME=VALUE in
//   - KEY=VALUE files (docker --env-file, /etc/nccl.conf) and shell scripts: `export K=V`, quotes,
//     comments, several on one line;
//   - command lines: `mpirun -x K=V`, `--env K=V`, `--env=K=V`, `srun --export=ALL,K=V`;
//   - /proc/<pid>/environ (NUL between entries).
// Takes what it finds and passes over everything else; nothing is expanded.
SettingsText ReadSettingsText(std::string_view text);

// The variables of this process.
collectives::SettingValues SettingsOfThisProcess();

}  // namespace telltale::cli
