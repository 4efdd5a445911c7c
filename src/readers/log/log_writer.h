#pragma once

// Rows of a log into the store, in the transaction that is open on the connection.

#include <memory>
#include <vector>

#include "readers/log/log_builder.h"
#include "store/bulk_insert.h"
#include "store/store.h"

namespace telltale::log {

class LogWriter {
 public:
  static Result<std::unique_ptr<LogWriter>> Create(Store& store);

  Connection& connection() { return *connection_; }

  // The numbers of a source's processes, locations and templates follow these.
  void Begin(int64_t source);
  Status Write(const LogRows& rows);
  // Processes, locations, templates and metrics, after all rows.
  Status Finish(const LogBuilder& builder);
  // Everything that a source has in the tables of logs.
  Status Remove(int64_t source);

 private:
  LogWriter(Store& store, std::unique_ptr<Connection> connection)
      : store_(store), connection_(std::move(connection)) {}
  Status WriteLines(const LogRows& rows);
  Status WriteEvents(const LogRows& rows);
  Status WriteValues(const LogRows& rows);

  Store& store_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<BulkInsert> lines_, events_, samples_;
  int64_t source_ = 0;
  // Numbers are given out as they are needed: another source may take some meanwhile.
  class Numbers {
   public:
    explicit Numbers(Store::Dimension dimension) : dimension_(dimension) {}
    void Clear() { numbers_.clear(); }
    int64_t Of(Store& store, uint32_t number) {
      if (number == kNoNumber) return kNoNumber;
      while (numbers_.size() <= number) numbers_.push_back(store.NextId(dimension_));
      return numbers_[number];
    }

   private:
    Store::Dimension dimension_;
    std::vector<int64_t> numbers_;
  };
  Numbers processes_{Store::kLogProcess};
  Numbers locations_{Store::kLogLocation};
  Numbers templates_{Store::kLogTemplate};
  // Of a process and a name of a metric.
  std::unordered_map<std::string, int64_t> series_;
  std::vector<std::pair<int64_t, LogValue>> new_series_;
};

}  // namespace telltale::log
