#pragma once

// Where a simulation writes: a folder, and a file with the truth beside it.

#include <string>
#include <string_view>

#include "base/result.h"

namespace telltale::simulate {

// Makes the folder; one that holds files is an error unless `force`.
Status PrepareDirectory(const std::string& directory, bool force);

// `truth_path`, or DIR.truth.json where it is empty. It may not lie in the folder (which must
// exist): whoever reads the folder does not find it.
Result<std::string> TruthPath(const std::string& directory, const std::string& truth_path);

// Replaces the file.
Status WriteText(const std::string& path, std::string_view text);

}  // namespace telltale::simulate
