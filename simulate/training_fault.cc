#include "simulate/training_fault.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace telltale::simulate {
namespace {

struct FaultRow {
  FaultKind kind;
  std::string_view name;
  std::string_view any_of;    // at least one of these keys, space separated
  std::string_view required;  // all of these keys
  std::string_view optional;
  std::string_view example;
};

constexpr FaultRow kFaults[] = {
    {FaultKind::kLateRank, "late-rank", "", "rank ms", "from to",
     "late-rank:rank=11,ms=3,from=0.3,to=0.5"},
    {FaultKind::kSlowLink, "slow-link", "comm hosts", "factor", "from to",
     "slow-link:comm=DP Group 3,factor=4,from=0.6 or slow-link:hosts=0-1,factor=2"},
    {FaultKind::kSlowHost, "slow-host", "", "host factor", "from to",
     "slow-host:host=3,factor=1.2"},
    {FaultKind::kCongestion, "congestion", "", "factor", "from to",
     "congestion:factor=1.5,from=0.2,to=0.4"},
    {FaultKind::kRingLoss, "ring-loss", "", "", "ring", "ring-loss:ring=16"},
    {FaultKind::kClockOffset, "clock-offset", "", "host ms", "", "clock-offset:host=2,ms=250"},
    {FaultKind::kMissingRankFile, "missing-rank-file", "", "rank", "", "missing-rank-file:rank=5"},
    {FaultKind::kJitter, "jitter", "", "percent", "rank host from to", "jitter:host=1,percent=20"},
};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool Lists(std::string_view keys, std::string_view key) {
  const std::vector<std::string_view> parts = Split(keys, ' ');
  return std::find(parts.begin(), parts.end(), key) != parts.end();
}

std::string Expected(const FaultRow& row) {
  return fmt::format("expected for example \"{}\"", row.example);
}

template <typename Number>
bool ParseNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseIndex(std::string_view text, std::optional<uint32_t>& index) {
  uint32_t number = 0;
  if (!ParseNumber(text, number)) return false;
  index = number;
  return true;
}

bool ParseInRange(std::string_view text, double low, double high, double& number) {
  return ParseNumber(text, number) && std::isfinite(number) && number >= low && number <= high;
}

Status SetKey(const FaultRow& row, std::string_view key, std::string_view value, Fault& fault) {
  const auto wrong = [&](std::string_view expected) {
    return Fail("fault \"{}\": {}=\"{}\" is not {}; {}", fault.text, key, value, expected,
                Expected(row));
  };
  constexpr double kHourMs = 3'600'000;
  if (key == "rank" && !ParseIndex(value, fault.rank)) return wrong("a global rank counted from 0");
  if (key == "host" && !ParseIndex(value, fault.host)) return wrong("a host counted from 0");
  if (key == "hosts") {
    const std::vector<std::string_view> ends = Split(value, '-');
    if (ends.size() != 2 || !ParseIndex(ends[0], fault.host) ||
        !ParseIndex(ends[1], fault.other_host) || fault.host == fault.other_host) {
      return wrong("two different hosts counted from 0, such as 0-1");
    }
  }
  if (key == "comm") {
    if (value.empty()) return wrong("a communicator's name");
    fault.communicator = value;
  }
  // A clock may be early, a rank may not.
  const double least_ms = fault.kind == FaultKind::kClockOffset ? -24 * kHourMs : 0;
  if (key == "ms" && !ParseInRange(value, least_ms, 24 * kHourMs, fault.milliseconds)) {
    return wrong("a number of milliseconds of at most one day");
  }
  if (key == "factor" && !ParseInRange(value, 1, 1e6, fault.factor)) {
    return wrong("a number from 1 (no change) to 1000000");
  }
  if (key == "percent" && !ParseInRange(value, 0, 50, fault.percent)) {
    return wrong("a number from 0 to 50");
  }
  if (key == "ring" && (!ParseNumber(value, fault.ring_size) || fault.ring_size == 0)) {
    return wrong("a number of records of at least 1");
  }
  if (key == "from" && !ParseInRange(value, 0, 1, fault.from)) return wrong("from 0 to 1");
  if (key == "to" && !ParseInRange(value, 0, 1, fault.to)) return wrong("from 0 to 1");
  return {};
}

const FaultRow& RowOf(FaultKind kind) {
  return *std::find_if(std::begin(kFaults), std::end(kFaults),
                       [&](const FaultRow& row) { return row.kind == kind; });
}

}  // namespace

std::string_view FaultKindName(FaultKind kind) { return RowOf(kind).name; }

Result<Fault> ParseFault(std::string_view text) {
  const size_t name_end = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, name_end);
  const auto* row = std::find_if(std::begin(kFaults), std::end(kFaults),
                                 [&](const FaultRow& candidate) { return candidate.name == name; });
  if (row == std::end(kFaults)) {
    return Fail("fault \"{}\": there is no kind \"{}\"; expected one of\n{}", text, name,
                FaultHelp());
  }
  Fault fault;
  fault.kind = row->kind;
  fault.text = text;
  fault.ring_size = row->kind == FaultKind::kRingLoss ? 16 : 0;
  std::string seen;
  for (const std::string_view part : Split(text.substr(std::min(name_end + 1, text.size())), ',')) {
    const size_t key_end = std::min(part.find('='), part.size());
    const std::string_view key = part.substr(0, key_end);
    if (!Lists(row->any_of, key) && !Lists(row->required, key) && !Lists(row->optional, key)) {
      return Fail("fault \"{}\": {} takes no key \"{}\"; {}", text, name, key, Expected(*row));
    }
    if (Lists(seen, key)) return Fail("fault \"{}\": key \"{}\" is given twice", text, key);
    seen.append(seen.empty() ? 0 : 1, ' ').append(key);
    TELLTALE_TRY(SetKey(*row, key, part.substr(std::min(key_end + 1, part.size())), fault));
  }
  for (const std::string_view key : Split(row->required, ' ')) {
    if (!Lists(seen, key))
      return Fail("fault \"{}\": {}= is missing; {}", text, key, Expected(*row));
  }
  const std::vector<std::string_view> any_of = Split(row->any_of, ' ');
  if (!any_of.empty() && std::count_if(any_of.begin(), any_of.end(), [&](std::string_view key) {
                           return Lists(seen, key);
                         }) != 1) {
    return Fail("fault \"{}\": give one of the keys {}; {}", text, row->any_of, Expected(*row));
  }
  if (fault.from >= fault.to) {
    return Fail("fault \"{}\": from={} is not before to={}", text, fault.from, fault.to);
  }
  return fault;
}

std::string FaultHelp() {
  std::string help;
  for (const FaultRow& row : kFaults) help += fmt::format("  {}\n", row.example);
  return help;
}

}  // namespace telltale::simulate
