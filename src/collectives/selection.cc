#include "collectives/selection.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "store/query.h"

namespace telltale::collectives {
namespace {

constexpr std::array kFilters = {
    Filter{"--run", "only_run", FilterKind::kText, "only this run"},
    Filter{"--coll", "only_operation", FilterKind::kOperation,
           "only this operation: AllReduce, AllGather, Send …"},
    Filter{"--comm", "only_communicator", FilterKind::kText,
           "only this communicator, by name or id", true},
    Filter{"--comm-type", "only_type", FilterKind::kType,
           "only this type: single-rank, nvlink-only, nic-only (or hca-only), mixed"},
    Filter{"--host", "only_host", FilterKind::kText, "only this host, with or without its domain",
           true},
    Filter{"--rank", "only_rank", FilterKind::kNumber, "only this rank in its communicator", true},
    Filter{"--size", "bytes", FilterKind::kSize,
           "only this message size, or sizes from A to B: 2M, 8192-64K (binary units)"},
    Filter{"--since", "since_us", FilterKind::kTime,
           "only what was dumped at this time or later: 2026-11-29T12:05:00, or microseconds since "
           "1970"},
    Filter{"--until", "until_us", FilterKind::kTime, "only what was dumped before this time"},
    Filter{"--nvlink-domain", "nvlink_domain", FilterKind::kCount,
           "so many hosts, in the order of their names, share an NVLink domain (1 if not given)"},
};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 128 ? std::tolower(c) : c); });
  return text;
}

// A text as SQL writes it.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

Result<std::string> ListOf(const Filter& filter, const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) {
    std::string element;
    switch (filter.kind) {
      case FilterKind::kOperation:
        element = Quoted(Lower(value));
        break;
      case FilterKind::kType: {
        constexpr std::array kTypes = {"single-rank", "nvlink-only", "nic-only", "mixed",
                                       "unknown"};
        const std::string type = Lower(value) == "hca-only" ? "nic-only" : Lower(value);
        if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) {
          return Fail(
              "{}: there is no communicator type {}; there are single-rank, nvlink-only, "
              "nic-only (or hca-only) and mixed",
              filter.option, value);
        }
        element = Quoted(type);
        break;
      }
      case FilterKind::kNumber:
        if (!NumberOf<int64_t>(value)) {
          return Fail("{}: {} is not a whole number", filter.option, value);
        }
        element = value;
        break;
      default:
        element = Quoted(value);
    }
    list += (list.empty() ? "" : ", ") + element;
  }
  return "[" + list + "]";
}

Result<std::string> TimeOf(Connection& connection, const Filter& filter, const std::string& value) {
  if (NumberOf<int64_t>(value)) return value;
  // As TIMESTAMP, DuckDB would pass over an offset such as +02:00.
  TELLTALE_TRY(connection.Run("SET TimeZone = 'UTC'"));
  const std::array<Cell, 1> parameters = {value};
  TELLTALE_ASSIGN(
      const Table table,
      connection.Query("SELECT epoch_us(try_cast($1::VARCHAR AS TIMESTAMPTZ))", parameters));
  if (const auto* time = std::get_if<int64_t>(&table.rows[0][0])) return fmt::format("{}", *time);
  return Fail("{}: {} is neither a time such as 2026-11-29T12:05:00 nor microseconds since 1970",
              filter.option, value);
}

Result<std::string> SizeStatements(const Filter& filter, const std::string& value) {
  const size_t dash = value.find('-');
  const auto least = BytesOf(std::string_view(value).substr(0, dash));
  const auto most =
      dash == std::string::npos ? least : BytesOf(std::string_view(value).substr(dash + 1));
  if (!least || !most || *least > *most) {
    return Fail("{}: {} is neither a size such as 2M nor a range such as 8192-64K", filter.option,
                value);
  }
  return fmt::format("SET VARIABLE least_{0} = {1};\nSET VARIABLE most_{0} = {2};\n",
                     filter.variable, *least, *most);
}

Result<std::string> Statements(Connection& connection, const Filter& filter,
                               const std::vector<std::string>& values) {
  if (values.empty()) return std::string();
  std::string text;
  switch (filter.kind) {
    case FilterKind::kSize:
      return SizeStatements(filter, values.back());
    case FilterKind::kTime: {
      TELLTALE_ASSIGN(text, TimeOf(connection, filter, values.back()));
      if (text.starts_with('-')) text = "0";  // before all dumps
      break;
    }
    case FilterKind::kCount: {
      const auto number = NumberOf<uint32_t>(values.back());
      if (!number || *number == 0) {
        return Fail("{}: {} is not a whole number above 0", filter.option, values.back());
      }
      text = fmt::format("{}", *number);
      break;
    }
    default: {
      TELLTALE_ASSIGN(text, ListOf(filter, values));
    }
  }
  return fmt::format("SET VARIABLE {} = {};\n", filter.variable, text);
}

struct StoreState {
  // They are not after an ingest that was stopped before its end.
  bool cells_up_to_date = false;
  bool irregular = false;  // whether there are irregular records
};
Result<StoreState> StateOf(Connection& connection) {
  TELLTALE_ASSIGN(
      const Table table,
      connection.Query(
          "SELECT NOT EXISTS (FROM (SELECT run, count(*) AS sources, max(source) AS last_source "
          "                         FROM source GROUP BY run) s "
          "  LEFT JOIN operation_cell_basis b USING (run) "
          "  WHERE (s.sources, s.last_source) IS DISTINCT FROM (b.sources, b.last_source)), "
          "EXISTS (FROM operation_record_irregular)"));
  return StoreState{std::get<bool>(table.rows[0][0]), std::get<bool>(table.rows[0][1])};
}

// A statement "CREATE TEMP VIEW name AS …", or of a table or macro.
struct Definition {
  std::string name;
  std::string text;
};

bool IsOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Of a name that is defined already the first definition stays.
void AddDefinitions(std::string_view sql, std::vector<Definition>& definitions) {
  constexpr std::string_view kBegin = "CREATE TEMP ";
  constexpr std::string_view kEnd = ";\n";
  for (size_t begin = sql.find(kBegin); begin != std::string_view::npos;) {
    const size_t end = std::min(sql.find(kEnd, begin), sql.size() - kEnd.size()) + kEnd.size();
    const std::string_view text = sql.substr(begin, end - begin);
    const size_t name = text.find(' ', kBegin.size()) + 1;
    size_t name_end = name;
    while (IsOfName(text[name_end])) ++name_end;
    Definition definition{std::string(text.substr(name, name_end - name)), std::string(text)};
    const bool is_new =
        std::none_of(definitions.begin(), definitions.end(),
                     [&](const Definition& other) { return other.name == definition.name; });
    if (is_new) definitions.push_back(std::move(definition));
    begin = sql.find(kBegin, end);
  }
}

bool Names(std::string_view sql, std::string_view name) {
  for (size_t at = sql.find(name); at != std::string_view::npos; at = sql.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !IsOfName(sql[at - 1])) && (end == sql.size() || !IsOfName(sql[end]))) {
      return true;
    }
  }
  return false;
}

// The definitions that `sql` names, and those that they name: each costs time, and definitions name
// only those before them.
std::string WhatIsNamed(const std::vector<Definition>& definitions, std::string_view sql) {
  std::string named;
  std::string read(sql);
  for (auto definition = definitions.rbegin(); definition != definitions.rend(); ++definition) {
    if (!sql.empty() && !Names(read, definition->name)) continue;
    named.insert(0, definition->text);
    read += definition->text;
  }
  return named;
}

}  // namespace

std::span<const Filter> Filters() { return kFilters; }

std::optional<uint64_t> BytesOf(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = NumberOf<uint64_t>(text.substr(0, digits));
  if (!number) return std::nullopt;
  const std::string unit = Lower(std::string(text.substr(digits)));
  if (unit.empty() || unit == "b") return number;
  const size_t power = Lower(std::string(kUnits)).find(unit[0]);
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string::npos || !(rest.empty() || rest == "b" || rest == "ib"))
    return std::nullopt;
  const auto shift = static_cast<unsigned>(10 * (power + 1));
  if (*number > std::numeric_limits<uint64_t>::max() >> shift) return std::nullopt;
  return *number << shift;
}

Status Select(Connection& connection, const FilterValues& values, std::string_view sql) {
  std::string variables;
  bool by_time = false;
  bool by_domain = false;
  bool by_place = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const Filter& filter = kFilters[i];
    TELLTALE_ASSIGN(const std::string statements, Statements(connection, filter, values[i]));
    variables += statements;
    if (values[i].empty()) continue;
    by_time |= filter.kind == FilterKind::kTime;
    by_domain |= filter.kind == FilterKind::kCount;
    by_place |= filter.is_place;
  }
  if (!variables.empty()) TELLTALE_TRY(connection.Run(variables));
  TELLTALE_ASSIGN(const StoreState state, StateOf(connection));
  const bool cells = !by_time && !by_domain && !by_place && state.cells_up_to_date;
  const char* const whole = state.irregular ? "selection/whole" : "selection/whole_regular";
  std::vector<Definition> definitions;
  for (const char* name :
       {"selection/filters", by_domain ? "selection/nvlink_domains" : "selection/types",
        "selection/series", state.irregular ? "" : "selection/no_irregular", "selection/records",
        by_time ? "selection/between" : whole,
        by_time ? "selection/cells_between"
        : cells ? "selection/cells"
                : "selection/cells_of_series"}) {
    if (*name == '\0') continue;
    TELLTALE_ASSIGN(const std::string text, QueryText(name));
    AddDefinitions(text, definitions);
  }
  return connection.Run(WhatIsNamed(definitions, sql));
}

}  // namespace telltale::collectives
