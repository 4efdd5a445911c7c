#pragma once

// Files that commands write: they appear under their names only when they are complete.

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace telltale::cli {

using FileWriter = std::function<Status(std::string_view)>;

// `write` is given a function that appends text. "-" is standard output; devices and pipes are
// written to as they are, and of a link the file that it leads to. Throws a CommandFailure.
void WriteFile(const std::string& path, const std::function<Status(const FileWriter&)>& write);

// Throws a CommandFailure if both are the same file: what is written would destroy what is read.
void RequireOtherFile(const std::string& out, const std::string& input);

// All of a file, decompressed; "-" is standard input. `check` is given its first bytes, so that a
// large file that is something else is not read. Throws a CommandFailure, also where the file is
// damaged.
std::string ReadWholeFile(const std::string& path,
                          const std::function<Status(std::string_view head)>& check);
// The same of a file in memory.
std::string ContentOf(std::string_view file);

}  // namespace telltale::cli
