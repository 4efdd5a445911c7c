#pragma once

// Rollups for a part of the time (--since, --until): what the store has only for whole series.

#include "store/store.h"

namespace telltale::collectives {

// After Select() on the same connection: fills those of the tables of queries/selection/between.sql
// that it made, in one pass over the records of the selected series. Nothing where there are none.
Status CountBetween(Store& store, Connection& connection);

}  // namespace telltale::collectives
