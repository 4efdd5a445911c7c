#include "readers/log/written_time.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace telltale::log {
namespace {

using Kind = WrittenTime::Kind;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kLeapYear = 2000;  // 29 February must be possible where the year is not written

// Nanoseconds since 1970; none for dates that there are not.
std::optional<int64_t> DayNs(int64_t year, int64_t month, int64_t day) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(static_cast<int>(year)),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1970 || year > 2200) return std::nullopt;
  return sys_days(date).time_since_epoch().count() * (24 * 3600 * kSecond);
}

// HH:MM:SS with a fraction behind '.' or ','.
std::optional<int64_t> TakeClock(std::string_view& rest) {
  std::string_view text = rest;
  const auto hours = TakeDigits(text, 1, 2);
  if (!hours || *hours > 23 || !Skip(text, ":")) return std::nullopt;
  const auto minutes = TakeDigits(text, 2, 2);
  if (!minutes || *minutes > 59 || !Skip(text, ":")) return std::nullopt;
  const auto seconds = TakeDigits(text, 2, 2);
  if (!seconds || *seconds > 60) return std::nullopt;
  int64_t ns = ((*hours * 60 + *minutes) * 60 + *seconds) * kSecond;
  // Behind a comma stand milliseconds or microseconds, or it is a table's.
  const size_t digits =
      text.empty() ? 0 : std::min(text.find_first_not_of("0123456789", 1), text.size()) - 1;
  const bool is_fraction =
      !text.empty() &&
      (text[0] == '.' ? digits > 0 : text[0] == ',' && (digits == 3 || digits == 6));
  if (is_fraction) {
    text.remove_prefix(1);
    int64_t unit = kSecond / 10;
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
      ns += (text[0] - '0') * unit;
      unit /= 10;
      text.remove_prefix(1);
    }
  }
  rest = text;
  return ns;
}

// Z, +00:00, +0000.
std::optional<int32_t> TakeZone(std::string_view& rest) {
  if (Skip(rest, "Z")) return 0;
  if (rest.empty() || (rest[0] != '+' && rest[0] != '-')) return std::nullopt;
  std::string_view text = rest.substr(1);
  const auto hours = TakeDigits(text, 2, 2);
  if (!hours || *hours > 15) return std::nullopt;
  (void)Skip(text, ":");
  const auto minutes = TakeDigits(text, 2, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  const auto seconds = static_cast<int32_t>((*hours * 60 + *minutes) * 60);
  const bool is_west = rest[0] == '-';
  rest = text;
  return is_west ? -seconds : seconds;
}

std::optional<int64_t> TakeMonthName(std::string_view& rest) {
  static constexpr std::array<std::string_view, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (size_t i = 0; i < kMonths.size(); ++i) {
    if (Skip(rest, kMonths[i])) return static_cast<int64_t>(i + 1);
  }
  return std::nullopt;
}

// "Feb 23 16:24:18", the day perhaps with a space before it.
struct MonthTime {
  int64_t month = 0;
  int64_t day = 0;
  int64_t clock_ns = 0;
};
std::optional<MonthTime> TakeMonthTime(std::string_view& rest) {
  std::string_view text = rest;
  const auto month = TakeMonthName(text);
  if (!month || !Skip(text, " ")) return std::nullopt;
  (void)Skip(text, " ");
  const auto day = TakeDigits(text, 1, 2);
  if (!day || !Skip(text, " ")) return std::nullopt;
  const auto clock_ns = TakeClock(text);
  if (!clock_ns) return std::nullopt;
  rest = text;
  return MonthTime{*month, *day, *clock_ns};
}

// Since the begin of the leap year.
std::optional<WrittenTime> WithoutYear(int64_t month, int64_t day, int64_t clock_ns) {
  const auto ns = DayNs(kLeapYear, month, day);
  if (!ns) return std::nullopt;
  return WrittenTime{Kind::kNoYear, *ns - *DayNs(kLeapYear, 1, 1) + clock_ns, std::nullopt};
}

}  // namespace

bool Skip(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

std::optional<int64_t> TakeDigits(std::string_view& rest, size_t least, size_t most) {
  int64_t value = 0;
  size_t digits = 0;
  while (digits < rest.size() && digits < most && rest[digits] >= '0' && rest[digits] <= '9') {
    value = value * 10 + (rest[digits++] - '0');
  }
  if (digits < least) return std::nullopt;
  rest.remove_prefix(digits);
  return value;
}

std::optional<WrittenTime> TakeDateTime(std::string_view& rest) {
  std::string_view text = rest;
  const auto year = TakeDigits(text, 4, 4);
  if (!year || (!Skip(text, "-") && !Skip(text, "/"))) return std::nullopt;
  const auto month = TakeDigits(text, 2, 2);
  if (!month || (!Skip(text, "-") && !Skip(text, "/"))) return std::nullopt;
  const auto day = TakeDigits(text, 2, 2);
  if (!day || (!Skip(text, " ") && !Skip(text, "T"))) return std::nullopt;
  const auto day_ns = DayNs(*year, *month, *day);
  const auto clock_ns = TakeClock(text);
  if (!day_ns || !clock_ns) return std::nullopt;
  const auto zone = TakeZone(text);
  rest = text;
  return WrittenTime{Kind::kFull, *day_ns + *clock_ns, zone};
}

std::optional<WrittenTime> TakeMonthDayTime(std::string_view& rest) {
  std::string_view text = rest;
  const auto month = TakeDigits(text, 2, 2);
  if (!month || !Skip(text, "-")) return std::nullopt;
  const auto day = TakeDigits(text, 2, 2);
  if (!day || !Skip(text, " ")) return std::nullopt;
  const auto clock_ns = TakeClock(text);
  if (!clock_ns) return std::nullopt;
  const auto time = WithoutYear(*month, *day, *clock_ns);
  if (time) rest = text;
  return time;
}

std::optional<WrittenTime> TakeGlogTime(std::string_view& rest) {
  std::string_view text = rest;
  // Glog pads the month (0519); PyTorch's C++ does not (519, 1206).
  const auto date = TakeDigits(text, 3, 4);
  if (!date || !Skip(text, " ")) return std::nullopt;
  const auto clock_ns = TakeClock(text);
  if (!clock_ns) return std::nullopt;
  const auto time = WithoutYear(*date / 100, *date % 100, *clock_ns);
  if (time) rest = text;
  return time;
}

std::optional<WrittenTime> TakeCtime(std::string_view& rest) {
  std::string_view text = rest;
  static constexpr std::string_view kDays = "MonTueWedThuFriSatSun";
  const size_t day = text.size() < 4 ? std::string_view::npos : kDays.find(text.substr(0, 3));
  if (day == std::string_view::npos || day % 3 != 0 || text[3] != ' ') return std::nullopt;
  text.remove_prefix(4);
  const auto time = TakeMonthTime(text);
  if (!time || !Skip(text, " ")) return std::nullopt;
  const auto year = TakeDigits(text, 4, 4);
  if (!year) return std::nullopt;
  const auto day_ns = DayNs(*year, time->month, time->day);
  if (!day_ns) return std::nullopt;
  rest = text;
  return WrittenTime{Kind::kFull, *day_ns + time->clock_ns, std::nullopt};
}

std::optional<WrittenTime> TakeMonthNameTime(std::string_view& rest) {
  std::string_view text = rest;
  const auto month = TakeMonthName(text);
  if (!month || !Skip(text, " ")) return std::nullopt;
  (void)Skip(text, " ");
  const auto day = TakeDigits(text, 1, 2);
  if (!day || !Skip(text, " ")) return std::nullopt;
  const auto year = TakeDigits(text, 4, 4);
  if (!year || !Skip(text, " ")) return std::nullopt;
  const auto day_ns = DayNs(*year, *month, *day);
  const auto clock_ns = TakeClock(text);
  if (!day_ns || !clock_ns) return std::nullopt;
  rest = text;
  return WrittenTime{Kind::kFull, *day_ns + *clock_ns, std::nullopt};
}

std::optional<WrittenTime> TakeSyslogTime(std::string_view& rest) {
  std::string_view text = rest;
  const auto time = TakeMonthTime(text);
  if (!time) return std::nullopt;
  const auto written = WithoutYear(time->month, time->day, time->clock_ns);
  if (written) rest = text;
  return written;
}

std::optional<WrittenTime> TakeTimeOfDay(std::string_view& rest) {
  const auto clock_ns = TakeClock(rest);
  if (!clock_ns) return std::nullopt;
  return WrittenTime{Kind::kTimeOnly, *clock_ns, std::nullopt};
}

std::optional<WrittenTime> TakeSecondsSinceStart(std::string_view& rest) {
  std::string_view text = rest;
  while (Skip(text, " ")) {
  }
  const auto seconds = TakeDigits(text, 1, 9);
  if (!seconds || !Skip(text, ".")) return std::nullopt;
  const size_t before = text.size();
  const auto fraction = TakeDigits(text, 1, 9);
  if (!fraction) return std::nullopt;
  int64_t ns = *fraction;
  for (size_t digits = before - text.size(); digits < 9; ++digits) ns *= 10;
  rest = text;
  return WrittenTime{Kind::kSinceStart, *seconds * kSecond + ns, std::nullopt};
}

}  // namespace telltale::log
