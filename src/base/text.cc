#include "base/text.h"

#include <chrono>

#include <fmt/format.h>

namespace telltale {

std::string BytesText(double bytes) {
  if (bytes < 999.5) return fmt::format("{:.0f} bytes", bytes);
  for (const char* unit : {"kB", "MB", "GB", "TB"}) {
    bytes /= 1000;
    if (bytes < 999.5) return fmt::format("{:.{}f} {}", bytes, bytes < 9.95 ? 1 : 0, unit);
  }
  return fmt::format("{:.1f} PB", bytes / 1000);
}

std::string CountText(uint64_t count) {
  if (count >= 1'000'000) return fmt::format("{:.1f} M", static_cast<double>(count) / 1e6);
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string TimeText(int64_t time_ns) {
  using namespace std::chrono;
  const sys_time<nanoseconds> time{nanoseconds(time_ns)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<microseconds> clock(floor<microseconds>(time) - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace telltale
