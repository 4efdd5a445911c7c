#pragma once

// Answers in the four formats. Data goes to standard output; everything else to standard error.

#include <cstdio>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "store/database.h"

namespace telltale::cli {

// A value as JSON: numbers as numbers (not finite ones as null), text quoted, NULL as null.
std::string CellJson(const Cell& cell);

// A row as a JSON object with the columns' names as keys.
std::string RowJson(const std::vector<ColumnInfo>& columns, std::span<const Cell> row);

// {"schema":"telltale/<name>/<version>","<list_name>":[{column: value …} …]<extra>} in JSON;
// `extra` is more members, each with a comma in front. In the other formats only the table.
void PrintTable(const Table& table, const GlobalOptions& global, std::string_view schema,
                std::string_view list_name, const std::string& extra = {});

// One value of CSV, quoted where it must be.
std::string CsvField(std::string_view text);

// Rows as CSV; for long answers, which come in several tables, with the head only once.
void PrintCsv(const Table& table, bool with_head);

// Text of one line: what could move a terminal's cursor is made visible.
std::string Visible(std::string_view text);

// Cuts texts of more bytes, for tables that people read: names of kernels run to thousands.
void CutTexts(Table& table, size_t most_bytes);
// The text, or as much of it as fits, with an ellipsis.
std::string Shortened(std::string text, size_t most_bytes);

// Columns of times (time_ns, arrival_ns, start_ns … since 1970) as people read them, in UTC: for
// tables that people read.
void WriteTimes(Table& table, std::initializer_list<std::string_view> columns);

// `--top`: so many rows (what `top` is now, if it is not given); 0 for all.
void AddTopOption(CLI::App& command, size_t& top);
// Keeps the first `top` rows (0: all), and says on standard error how many there are besides.
void KeepTop(Table& table, size_t top, const GlobalOptions& global);

// A line on standard error that is drawn over itself; removed at the end. Silent unless `shown`.
class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Draw(const std::string& text);

 private:
  bool shown_;
  bool drawn_ = false;
};

}  // namespace telltale::cli
