#pragma once

// Files that commands write: they appear under their names only when they are complete.

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace telltale::cli {

using FileWriter = std::function<Status(std::string_view)>;

// `write` is given a function that appends text. "-" is standard output. Throws a CommandFailure.
void WriteFile(const std::string& path, const std::function<Status(const FileWriter&)>& write);

// All of a file, decompressed; "-" is standard input. Throws a CommandFailure, also where the file
// is damaged.
std::string ReadWholeFile(const std::string& path);
// The same of a file in memory.
std::string ContentOf(std::string_view file);

}  // namespace telltale::cli
