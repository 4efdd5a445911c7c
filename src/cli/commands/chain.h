#pragma once

// What `telltale chain` shows and other commands show alike.

#include <string>
#include <vector>

#include "evidence/chain.h"

namespace telltale::cli {

// The elements of a JSON list.
std::string UnattachedJson(const std::vector<evidence::Unattached>& unattached);

}  // namespace telltale::cli
