#include "collectives/preparation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "collectives/between.h"
#include "collectives/rank_skew.h"
#include "collectives/rated_slots.h"
#include "collectives/time_filter.h"
#include "store/query.h"

namespace telltale::collectives {
namespace {

struct SlotQuery {
  std::string_view query;
  Bins bins;
};
constexpr std::array kSlotQueries = {
    SlotQuery{"by-communicator", Bins::kNone}, SlotQuery{"by-host", Bins::kNone},
    SlotQuery{"by-rank", Bins::kNone},         SlotQuery{"p2p", Bins::kNone},
    SlotQuery{"over-time", Bins::kTime},       SlotQuery{"over-sequence", Bins::kSequence},
};
constexpr std::string_view kSkew = "skew";

const SlotQuery* SlotQueryOf(std::string_view query) {
  const auto* const found =
      std::find_if(kSlotQueries.begin(), kSlotQueries.end(),
                   [&](const SlotQuery& slot) { return slot.query == query; });
  return found == kSlotQueries.end() ? nullptr : found;
}

Status SetBin(Connection& connection, const std::string& value) {
  double width = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), width);
  if (error != std::errc() || end != value.data() + value.size() || !(width > 0) ||
      !std::isfinite(width)) {
    return Fail("{} is not a number above 0", value);
  }
  return connection.Run(fmt::format("SET VARIABLE bin = {}", value));
}

Status RunFile(Connection& connection, const std::string& name) {
  TELLTALE_ASSIGN(const std::string sql, QueryText(name));
  return connection.Run(sql);
}

bool IsPrepared(std::string_view query) { return query == kSkew || SlotQueryOf(query) != nullptr; }

// The SQL that a query runs, its preparation's before its own.
Result<std::string> SqlOf(std::string_view query) {
  TELLTALE_ASSIGN(std::string sql, QueryText(fmt::format("collectives/{}", query)));
  std::vector<std::string> before;
  if (query == kSkew) before = {"slots/skew_by_records"};
  if (SlotQueryOf(query) != nullptr) before = {fmt::format("slots/{}", query), "slots/members"};
  for (const std::string& name : before) {
    TELLTALE_ASSIGN(const std::string text, QueryText(name));
    sql.insert(0, text);
  }
  return sql;
}

}  // namespace

Status SelectFor(Connection& connection, const FilterValues& values, std::string_view query) {
  TELLTALE_ASSIGN(const std::string sql, SqlOf(query));
  return Select(connection, values, sql);
}

Result<Table> Ask(Store& store, Connection& connection, std::string_view query,
                  std::span<const Cell> parameters) {
  TELLTALE_ASSIGN(const std::string sql, QueryText(fmt::format("collectives/{}", query)));
  if (!IsPrepared(query)) {
    TELLTALE_TRY(CountBetween(store, connection));
    return connection.Query(sql, parameters);
  }
  // The query's own parameters go to its preparation.
  TELLTALE_TRY(
      Prepare(store, connection, query, parameters.empty() ? "" : CellText(parameters[0])));
  return connection.Query(sql);
}

Status Prepare(Store& store, Connection& connection, std::string_view query,
               const std::string& value) {
  if (!value.empty()) TELLTALE_TRY(SetBin(connection, value));
  if (query == kSkew) return MakeRankSkew(store, connection);
  const SlotQuery* const slots = SlotQueryOf(query);
  if (slots == nullptr) return {};
  TELLTALE_ASSIGN(const TimeFilter filter, TimeFilter::Of(connection));
  BlocksToCome blocks;
  if (slots->bins != Bins::kNone || filter.is_set()) blocks = LoadBlocksAside(store);
  TELLTALE_TRY(RunFile(connection, fmt::format("slots/{}", query)));
  TELLTALE_TRY(RunFile(connection, "slots/members"));
  return RateSlots(store, connection, slots->bins, std::move(blocks));
}

}  // namespace telltale::collectives
