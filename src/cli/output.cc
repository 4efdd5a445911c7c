#include "cli/output.h"

#include <algorithm>
#include <cmath>

#include "base/json_text.h"
#include "base/text.h"

namespace telltale::cli {
namespace {

bool IsNumber(const Cell& cell) {
  return std::holds_alternative<int64_t>(cell) || std::holds_alternative<uint64_t>(cell) ||
         std::holds_alternative<double>(cell) || std::holds_alternative<BigInteger>(cell);
}

// For people: doubles with enough digits to compare, everything else exactly.
std::string DisplayText(const Cell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) {
    if (!std::isfinite(*value)) return fmt::format("{}", *value);
    if (*value == std::floor(*value) && std::abs(*value) < 1e15)
      return fmt::format("{:.0f}", *value);
    return fmt::format("{:.{}f}", *value,
                       std::abs(*value) < 10     ? 3
                       : std::abs(*value) < 1000 ? 2
                                                 : 1);
  }
  return Visible(CellText(cell));
}

// Columns of a terminal that a text takes (code points; wide characters count as one).
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string Padded(const std::string& text, size_t width, bool right) {
  const std::string pad(width - std::min(width, Width(text)), ' ');
  return right ? pad + text : text + pad;
}

void PrintText(const Table& table) {
  std::vector<size_t> widths;
  std::vector<bool> right(table.columns.size(), true);
  std::vector<std::vector<std::string>> cells;
  for (const ColumnInfo& column : table.columns) widths.push_back(Width(column.name));
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<std::string>& texts = cells.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      texts.push_back(DisplayText(row[i]));
      widths[i] = std::max(widths[i], Width(texts.back()));
      if (!IsNumber(row[i]) && !std::holds_alternative<std::monostate>(row[i])) right[i] = false;
    }
  }
  const auto print = [&](const auto& text_of) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) line += "  ";
      line += Padded(text_of(i), widths[i], right[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    fmt::print("{}\n", line);
  };
  print([&](size_t i) { return table.columns[i].name; });
  for (const std::vector<std::string>& texts : cells) print([&](size_t i) { return texts[i]; });
}

std::string MarkdownCell(const Cell& cell) {
  std::string text;
  for (const char c : DisplayText(cell)) {
    if (c == '|') text += '\\';
    text += c;
  }
  return text;
}

void PrintMarkdown(const Table& table) {
  std::string head = "|";
  std::string rule = "|";
  for (const ColumnInfo& column : table.columns) {
    head += " " + column.name + " |";
    rule += "---|";
  }
  fmt::print("{}\n{}\n", head, rule);
  for (const std::vector<Cell>& row : table.rows) {
    std::string line = "|";
    for (const Cell& cell : row) line += " " + MarkdownCell(cell) + " |";
    fmt::print("{}\n", line);
  }
}

}  // namespace

std::string CellJson(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "null";
  if (const auto* value = std::get_if<double>(&cell); value != nullptr && !std::isfinite(*value)) {
    return "null";
  }
  if (const auto* text = std::get_if<std::string>(&cell)) return JsonString(*text);
  return CellText(cell);
}

std::string RowJson(const std::vector<ColumnInfo>& columns, std::span<const Cell> row) {
  std::string text = "{";
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) text += ',';
    text += JsonString(columns[i].name) + ":" + CellJson(row[i]);
  }
  return text + "}";
}

void PrintTable(const Table& table, const GlobalOptions& global, std::string_view schema,
                std::string_view list_name, const std::string& extra) {
  switch (global.format) {
    case Format::kJson: {
      fmt::print(R"({{"schema":"telltale/{}","{}":[)", schema, list_name);
      for (size_t i = 0; i < table.rows.size(); ++i) {
        fmt::print("{}{}", i > 0 ? "," : "", RowJson(table.columns, table.rows[i]));
      }
      fmt::print("]{}}}\n", extra);
      return;
    }
    case Format::kCsv:
      return PrintCsv(table, true);
    case Format::kMarkdown:
      return PrintMarkdown(table);
    case Format::kTable:
      return PrintText(table);
  }
}

void PrintCsv(const Table& table, bool with_head) {
  const auto print = [&](size_t count, const auto& text_of) {
    for (size_t i = 0; i < count; ++i) fmt::print("{}{}", i > 0 ? "," : "", CsvField(text_of(i)));
    fmt::print("\n");
  };
  if (with_head) print(table.columns.size(), [&](size_t i) { return table.columns[i].name; });
  for (const std::vector<Cell>& row : table.rows) {
    print(row.size(), [&](size_t i) { return CellText(row[i]); });
  }
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + "\"";
}

std::string Shortened(std::string text, size_t most_bytes) {
  constexpr std::string_view kEllipsis = "...";
  if (text.size() <= most_bytes) return text;
  size_t cut = most_bytes - std::min(most_bytes, kEllipsis.size());
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  return text.substr(0, cut) + std::string(kEllipsis);
}

void WriteTimes(Table& table, std::initializer_list<std::string_view> columns) {
  for (size_t c = 0; c < table.columns.size(); ++c) {
    ColumnInfo& column = table.columns[c];
    if (std::find(columns.begin(), columns.end(), column.name) == columns.end()) continue;
    if (column.name.ends_with("_ns")) column.name.resize(column.name.size() - 3);
    column.type = "VARCHAR";
    for (std::vector<Cell>& row : table.rows) {
      if (const auto* const time_ns = std::get_if<int64_t>(&row[c])) row[c] = TimeText(*time_ns);
    }
  }
}

void AddTopOption(CLI::App& command, size_t& top) {
  command.add_option("--top", top, fmt::format("so many rows ({}); 0 for all", top))
      ->check(CLI::NonNegativeNumber);
}

void KeepTop(Table& table, size_t top, const GlobalOptions& global) {
  if (top == 0 || table.rows.size() <= top) return;
  if (!global.quiet) {
    fmt::print(stderr, "{} more rows; --top 0 shows all\n", table.rows.size() - top);
  }
  table.rows.resize(top);
}

void CutTexts(Table& table, size_t most_bytes) {
  for (std::vector<Cell>& row : table.rows) {
    for (Cell& cell : row) {
      if (auto* const text = std::get_if<std::string>(&cell)) {
        *text = Shortened(std::move(*text), most_bytes);
      }
    }
  }
}

std::string Visible(std::string_view text) {
  std::string visible;
  unsigned char previous = 0;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_c1 = previous == 0xC2 && byte < 0xA0;  // U+0080 to U+009F
    if (is_c1) visible.pop_back();
    if (byte < 0x20 || byte == 0x7F || is_c1) {
      visible += fmt::format("\\x{:02x}", byte);
    } else {
      visible += character;
    }
    previous = byte;
  }
  return visible;
}

ProgressLine::~ProgressLine() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressLine::Draw(const std::string& text) {
  if (!shown_) return;
  drawn_ = true;
  fmt::print(stderr, "\r\x1b[K{}", text);
}

}  // namespace telltale::cli
