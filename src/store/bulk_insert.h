#pragma once

// The two ways of putting rows into a table. BulkInsert is for the large, narrow tables: a table
// function hands DuckDB whole vectors, which is 1.3 to 1.6 times as fast as its appender.
// RowAppender is for everything else: a row of cells at a time. Both take part in the transaction
// that is open on the connection.

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "store/database.h"

struct _duckdb_appender;

namespace telltale {

// Text is put as std::string_view, which must be UTF-8 and stay until Fill is called again.
enum class ColumnType { kUInt32, kInt64, kUInt64, kDouble, kText };

class BulkInsert {
 public:
  // Writes up to `capacity` rows, column i at columns[i] (a pointer to values of its type); returns
  // how many. 0 ends the insert.
  using Fill = std::function<size_t(std::span<void* const> columns, size_t capacity)>;

  // `connection` must outlive it. `selected` makes the table's columns from those that are put,
  // which it calls c0, c1 …
  static Result<std::unique_ptr<BulkInsert>> Create(Connection& connection, std::string table,
                                                    std::span<const ColumnType> columns,
                                                    std::string selected = "*");
  ~BulkInsert();
  // How many rows DuckDB keeps together; rows beyond a multiple of it cost more.
  static size_t VectorRows();
  Status Insert(const Fill& fill);
  // Inserts `count` rows; put(i, columns, at) writes row i of the caller's to row `at` of the
  // columns. With `threads` above 1 it is called on as many threads as DuckDB has, at most those,
  // and the rows lie in pieces of kRowGroup that are in no order (DuckDB must have been told that
  // order does not matter: ParallelInserts).
  template <typename Put>
  Status InsertRows(size_t count, const Put& put, unsigned threads = 1) {
    if (count == 0) return {};
    return InsertRanges(count, threads,
                        [&](size_t first, std::span<void* const> columns, size_t rows) {
                          for (size_t at = 0; at < rows; ++at) put(first + at, columns, at);
                        });
  }

 private:
  struct State;
  struct Range {
    size_t next = 0;
    size_t end = 0;
  };
  static constexpr size_t kRowGroup = 122'880;  // rows that DuckDB compresses together
  using PutRange = std::function<void(size_t first, std::span<void* const> columns, size_t rows)>;
  Status InsertRanges(size_t count, unsigned threads, const PutRange& put);
  Status Run(unsigned threads);
  explicit BulkInsert(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// As long as it lives, DuckDB has this number of threads for InsertRows. No other connection should
// be at work.
class ParallelInserts {
 public:
  ParallelInserts(Connection& connection, unsigned threads)
      : connection_(connection), threads_(threads) {}
  ~ParallelInserts();
  ParallelInserts(const ParallelInserts&) = delete;
  ParallelInserts& operator=(const ParallelInserts&) = delete;
  Status Start();

 private:
  Connection& connection_;
  unsigned threads_;
};

class RowAppender {
 public:
  static Result<std::unique_ptr<RowAppender>> Create(Connection& connection,
                                                     const std::string& table);
  ~RowAppender();
  RowAppender(const RowAppender&) = delete;
  RowAppender& operator=(const RowAppender&) = delete;

  // One cell for each column of the table, in its order; integers are cast to the column's type.
  Status Append(std::span<const Cell> row);
  // Must be called last; errors that were put off show here.
  Status Close();

 private:
  explicit RowAppender(_duckdb_appender* handle) : handle_(handle) {}
  Status Check(int state);
  _duckdb_appender* handle_;
};

// A RowAppender that is made with its first row.
class LazyAppender {
 public:
  LazyAppender(Connection& connection, const char* table)
      : connection_(connection), table_(table) {}
  Status Append(std::span<const Cell> row);
  Status Append(std::initializer_list<Cell> row) {
    return Append(std::span<const Cell>(row.begin(), row.size()));
  }
  // Must be called last, as that of RowAppender.
  Status Close();

 private:
  Connection& connection_;
  const char* table_;
  std::unique_ptr<RowAppender> appender_;
};

}  // namespace telltale
