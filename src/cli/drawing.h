#pragma once

// What the table format draws beside numbers: distributions as range bars, counts as heat maps.

#include "store/database.h"

namespace telltale::cli {

// Adds a column "range" to a table that has columns <name>_min, _p25, _p50, _p75 and _max: from the
// least to the most a line, the middle half thick, the median marked. Bars of rows that agree in
// the first columns, up to and with message_bytes, have the same scale, from 0 to their greatest
// value.
void AddRangeBars(Table& table);

// A table of (labels …, message_bytes, …, log10_operations) with a row for each label and a column
// for each size, in which a count is a shade.
Table HeatMap(const Table& table);

}  // namespace telltale::cli
