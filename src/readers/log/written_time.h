#pragma once

// Times as logs write them, from text. Each function takes what it reads off the front of `rest`,
// and leaves it as it was where there is no such time.

#include <optional>
#include <string_view>

#include "readers/log/line_prefix.h"

namespace telltale::log {

// `rest` without `text` at its front, if it begins so.
bool Skip(std::string_view& rest, std::string_view text);
// A number of `least` to `most` digits.
std::optional<int64_t> TakeDigits(std::string_view& rest, size_t least, size_t most);

// 2026-05-19 19:31:29,955  2025-01-21T04:41:44,283302+00:00  2026-05-19T19:31:29Z
std::optional<WrittenTime> TakeDateTime(std::string_view& rest);
// 02-20 23:41:37
std::optional<WrittenTime> TakeMonthDayTime(std::string_view& rest);
// 0519 19:31:02.761000 and, of PyTorch's C++, 519 19:31:02.761000
std::optional<WrittenTime> TakeGlogTime(std::string_view& rest);
// Sun Feb 23 16:24:18 2025
std::optional<WrittenTime> TakeCtime(std::string_view& rest);
// Feb 25 2025 13:59:45
std::optional<WrittenTime> TakeMonthNameTime(std::string_view& rest);
// Jan 21 04:41:44
std::optional<WrittenTime> TakeSyslogTime(std::string_view& rest);
// 23:41:37
std::optional<WrittenTime> TakeTimeOfDay(std::string_view& rest);
// 24128.828315
std::optional<WrittenTime> TakeSecondsSinceStart(std::string_view& rest);

}  // namespace telltale::log
