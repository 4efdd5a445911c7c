#pragma once

// How late each rank is: each operation matched over ranks by communicator, operation and sequence
// number. In SQL this joins all records with themselves; here their times lie in arrays by sequence
// number.

#include "store/store.h"

namespace telltale::collectives {

// After Select() on the same connection. Makes the temporary table
//   rank_skew  communicator BIGINT, operation VARCHAR, rank BIGINT, operations UBIGINT,
//              lateness_us_sum UBIGINT, lateness_us_max UBIGINT, longest_us_sum UBIGINT, latest
//              UBIGINT
// as queries/slots/skew_by_records.sql does, which is used where arrays would be far larger than
// what is in them.
Status MakeRankSkew(Store& store, Connection& connection);

// The same always by that file: what the other way must give.
Status MakeRankSkewByRecords(Connection& connection);

}  // namespace telltale::collectives
