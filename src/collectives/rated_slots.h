#pragma once

// Bandwidth of records by slot: what by-rank, by-host, over-time and their like compare. Their
// preparation (queries/slots) says which series belong to which slot; this counts their execution
// times by slot, or by slot and bin, and leaves the summaries in a temporary table.

#include "collectives/record_scan.h"
#include "store/store.h"

namespace telltale::collectives {

// By what the records of a slot are cut into bins.
enum class Bins {
  kNone,      // all in bin 0; rollups are enough where no time filter is set
  kTime,      // time of the dump, microseconds
  kSequence,  // sequence number
};

// Reads, on `connection`, what queries/slots/members.sql makes:
//   slot_series     series UINTEGER, slot UINTEGER, traffic_bytes DOUBLE, bus_factor DOUBLE, origin
//                   BIGINT, width BIGINT: regular records go to bin floor((value - origin) / width)
//   slot_irregular  the irregular records of slots
// and the filters since_us, until_us. Fills between_count, if Select() has made it, and makes the
// temporary view
//   rated           slot UINTEGER, bin BIGINT, n UBIGINT, busbw_gbs_min, _p10, _p25, _p50, _p75,
//                   _p90, _max, _mean DOUBLE, variation DOUBLE: as busbw_summary() gives them
// with a row for each slot and bin that has a bandwidth.
// `blocks`: if they are loaded already.
Status RateSlots(Store& store, Connection& connection, Bins bins, BlocksToCome blocks);

}  // namespace telltale::collectives
