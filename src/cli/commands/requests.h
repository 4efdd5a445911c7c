#pragma once

// What commands that take a request share.

#include <string>

#include "store/database.h"

namespace telltale::cli {

// The id that is meant: the one asked for, or the only one that begins with it. Throws
// CommandFailure where there is none, or several. Empty for an empty one.
std::string ChosenRequest(Connection& connection, const std::string& request,
                          const std::string& run);

}  // namespace telltale::cli
