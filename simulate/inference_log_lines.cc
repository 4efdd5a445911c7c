#include "simulate/inference_log_lines.h"

#include <algorithm>
#include <ctime>

namespace telltale::simulate {

std::string LogLines::Time(int64_t true_ns, const char* format) const {
  const auto seconds = static_cast<std::time_t>(clock_.Local(true_ns) / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  const size_t size = std::strftime(text, sizeof text, format, &parts);
  return {text, size};
}

std::string LogLines::Text() {
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const Line& a, const Line& b) { return a.at_ns < b.at_ns; });
  std::string text;
  for (const Line& line : lines_) {
    text += line.text;
    text += '\n';
  }
  return text;
}

}  // namespace telltale::simulate
