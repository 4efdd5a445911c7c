#include "cli/drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace telltale::cli {
namespace {

std::optional<size_t> ColumnNamed(const Table& table, std::string_view ending) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name.ends_with(ending)) return i;
  }
  return std::nullopt;
}

double NumberIn(const Cell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  if (const auto* value = std::get_if<int64_t>(&cell)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<uint64_t>(&cell)) return static_cast<double>(*value);
  return NAN;
}

// The first `count` cells of a row as one text: rows that agree in them belong together.
std::string LabelOf(const std::vector<Cell>& row, size_t count) {
  std::string label;
  for (size_t i = 0; i < count; ++i) label += CellText(row[i]) + '\n';
  return label;
}

constexpr int kBarWidth = 30;

std::string Bar(const std::array<double, 5>& values, double most) {
  std::array<int, 5> at{};
  for (size_t i = 0; i < at.size(); ++i) {
    if (!(values[i] >= 0) || !(most > 0)) return {};
    at[i] = std::min(static_cast<int>(values[i] / most * kBarWidth), kBarWidth - 1);
  }
  std::string bar;
  for (int x = 0; x <= at[4]; ++x) {
    bar += x == at[2] ? "┃" : x >= at[1] && x <= at[3] ? "━" : x >= at[0] ? "─" : " ";
  }
  return bar;
}

// "64K" for 65536; bytes that are no whole unit stay bytes.
std::string SizeText(uint64_t bytes) {
  if (bytes >= uint64_t{1} << 63) return "unknown";
  uint64_t value = bytes;
  size_t unit = 0;
  while (value >= 1024 && value % 1024 == 0 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  constexpr std::string_view kUnits = "KMGT";
  return std::to_string(value) + (unit == 0 ? "" : std::string(1, kUnits[unit - 1]));
}

}  // namespace

void AddRangeBars(Table& table) {
  constexpr std::array kEndings = {"_min", "_p25", "_p50", "_p75", "_max"};
  std::array<size_t, 5> columns{};
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto column = ColumnNamed(table, kEndings[i]);
    if (!column) return;
    columns[i] = *column;
  }
  const size_t labels = ColumnNamed(table, "message_bytes").value_or(0) + 1;
  std::map<std::string, double> most;
  for (const auto& row : table.rows) {
    double& value = most[LabelOf(row, labels)];
    value = std::max(value, NumberIn(row[columns[4]]));
  }
  for (auto& row : table.rows) {
    std::array<double, 5> values{};
    for (size_t i = 0; i < values.size(); ++i) values[i] = NumberIn(row[columns[i]]);
    row.emplace_back(Bar(values, most[LabelOf(row, labels)]));
  }
  table.columns.push_back({"range", "VARCHAR"});
}

Table HeatMap(const Table& table) {
  const size_t size = ColumnNamed(table, "message_bytes").value();
  const size_t count = ColumnNamed(table, "log10_operations").value();
  const auto size_of = [&](const std::vector<Cell>& row) {
    const auto* bytes = std::get_if<uint64_t>(&row[size]);
    return bytes != nullptr ? *bytes : std::numeric_limits<uint64_t>::max();
  };
  std::map<uint64_t, size_t> column_of;  // by size
  double most = 0;
  for (const auto& row : table.rows) {
    column_of[size_of(row)] = 0;
    most = std::max(most, NumberIn(row[count]));
  }
  Table map;
  map.columns.assign(table.columns.begin(), table.columns.begin() + static_cast<ptrdiff_t>(size));
  for (auto& [bytes, column] : column_of) {
    column = map.columns.size();
    map.columns.push_back({SizeText(bytes), "VARCHAR"});
  }
  std::string label;
  for (const auto& row : table.rows) {
    if (map.rows.empty() || LabelOf(row, size) != label) {
      label = LabelOf(row, size);
      map.rows.emplace_back(row.begin(), row.begin() + static_cast<ptrdiff_t>(size))
          .resize(map.columns.size(), Cell(std::string()));
    }
    constexpr std::array kShades = {"░", "▒", "▓", "█"};
    const double share = most > 0 ? NumberIn(row[count]) / most : 1;
    const auto shade = std::min(static_cast<size_t>(share * kShades.size()), kShades.size() - 1);
    map.rows.back()[column_of[size_of(row)]] = std::string(kShades[shade]) + kShades[shade];
  }
  return map;
}

}  // namespace telltale::cli
