#include "cli/command.h"

#include <unistd.h>

namespace telltale::cli {

bool GlobalOptions::ShowProgress() const { return !quiet && isatty(STDERR_FILENO) != 0; }

}  // namespace telltale::cli
