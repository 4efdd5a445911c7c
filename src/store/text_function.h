#pragma once

// A function of ours for SQL that takes two texts and gives a list of texts.

#include <string_view>
#include <vector>

#include "store/database.h"

namespace telltale {

// The result may be parts of the arguments. NULL where an argument is NULL. Thread safe.
using TextFunction = std::vector<std::string_view> (*)(std::string_view first,
                                                       std::string_view second);

// Once for each database; all of its connections have the function then.
Status RegisterTextFunction(Connection& connection, const char* name, TextFunction function);

}  // namespace telltale
