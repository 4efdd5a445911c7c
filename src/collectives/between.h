#pragma once

// Rollups for a part of the time (--since, --until): what the store has only for whole series.

#include <cstdint>
#include <limits>
#include <vector>

#include "collectives/record_scan.h"
#include "store/store.h"

namespace telltale::collectives {

// After Select() on the same connection: fills those of the tables of queries/selection/between.sql
// and cells_between.sql that it made, in one pass over the records of the selected series. Nothing
// where there are none.
Status CountBetween(Store& store, Connection& connection);

// Counts of records by series, or by what series are put together to.
class SeriesCounts {
 public:
  // Whether Select() made the table between_count on the connection.
  static Result<bool> AreWanted(Connection& connection);

  SeriesCounts(size_t workers, size_t series);

  // `span`: records that all count, with their times. Workers may add at the same time.
  void Add(size_t worker, const RecordSpan& span);
  // Once, when all is added: to a table with the columns of between_count.
  void PutTogether();
  Status Write(Connection& connection, const std::string& table = "between_count") const;
  // What was put together, once more by `group_of_series`, of `groups`.
  SeriesCounts By(const std::vector<uint32_t>& group_of_series, size_t groups) const;

 private:
  struct Count {
    uint64_t operations = 0;
    uint64_t exec_time_us_sum = 0;
    uint32_t exec_time_us_min = std::numeric_limits<uint32_t>::max();
    uint32_t exec_time_us_max = 0;
    int64_t first_us = std::numeric_limits<int64_t>::max();
    int64_t last_us = std::numeric_limits<int64_t>::min();
    void Add(const Count& other);
  };
  std::vector<std::vector<Count>> counts_;  // by worker and series
};

}  // namespace telltale::collectives
