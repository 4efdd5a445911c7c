#pragma once

// A pass over operation records by two threads, each with the series that are its own: for
// questions that need every record, where joins of all of them in SQL would take seconds.

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "store/store.h"

namespace telltale::collectives {

constexpr size_t kScanThreads = 2;

// Which thread gets the records of a series, by its number; kNoThread: they are passed over.
constexpr uint8_t kNoThread = std::numeric_limits<uint8_t>::max();
using ThreadOfSeries = std::vector<uint8_t>;

// Records of one series that lie behind each other: value = key + offset, for each of `count`.
struct RecordSpan {
  uint32_t series = 0;
  size_t count = 0;
  const uint32_t* exec_time_us = nullptr;
  const uint32_t* sequence_key = nullptr;
  int64_t sequence_offset = 0;
  const uint32_t* timestamp_key = nullptr;  // only with RecordFields::kTimestamp
  int64_t timestamp_offset_us = 0;
};

enum class RecordFields { kSequence, kTimestamp };  // kTimestamp: both

// Calls `on_span(thread, span)`: for each thread in the order in which records lie, the threads
// beside each other. Irregular records are not among them.
Status ScanRecords(Store& store, const ThreadOfSeries& thread_of_series, RecordFields fields,
                   const std::function<void(size_t thread, const RecordSpan& span)>& on_span);

// Rows of operation_histogram in the same way: `on_count(thread, series, exec_time_us, operations,
// count)`.
using OnCounts = std::function<void(size_t thread, uint32_t series, const uint32_t* exec_time_us,
                                    const uint32_t* operations, size_t count)>;
Status ScanHistogram(Store& store, const ThreadOfSeries& thread_of_series,
                     const OnCounts& on_counts);

// Runs `work(thread)` on kScanThreads threads; the first error, if there is one.
Status OnScanThreads(const std::function<Status(size_t thread)>& work);

}  // namespace telltale::collectives
