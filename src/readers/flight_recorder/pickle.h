#pragma once

// Reads Python pickles of plain data (protocols 2 to 5): numbers, texts, lists, tuples, dicts.
// Every opcode that could name or call code is refused, and nothing is ever executed.

#include <string_view>

#include "base/result.h"
#include "readers/flight_recorder/value.h"

namespace telltale::flight_recorder {

bool IsPickle(std::string_view bytes);

// A pickle that ends early gives what it held up to there, with `damage`. An error: an opcode that
// is refused or unknown, with its place; or more values than a dump can have.
Result<ValueTree> ReadPickle(std::string_view bytes);

}  // namespace telltale::flight_recorder
