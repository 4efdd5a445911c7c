#pragma once

// The two ways of putting rows into a table. BulkInsert is for the large, narrow tables: a table
// function hands DuckDB whole vectors, which is 1.3 to 1.6 times as fast as its appender.
// RowAppender is for everything else: a row of cells at a time. Both take part in the transaction
// that is open on the connection.

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "store/database.h"

struct _duckdb_appender;

namespace telltale {

enum class ColumnType { kUInt32, kInt64, kUInt64, kDouble };

class BulkInsert {
 public:
  // Writes up to `capacity` rows, column i at columns[i] (a pointer to values of its type); returns
  // how many. 0 ends the insert.
  using Fill = std::function<size_t(std::span<void* const> columns, size_t capacity)>;

  // `connection` must outlive it.
  static Result<std::unique_ptr<BulkInsert>> Create(Connection& connection, std::string table,
                                                    std::span<const ColumnType> columns);
  ~BulkInsert();
  Status Insert(const Fill& fill);

 private:
  struct State;
  explicit BulkInsert(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
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

}  // namespace telltale
