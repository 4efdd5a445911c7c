#include "readers/log/log_builder.h"

#include <cstring>

#include <simdjson.h>

#include "store/database.h"

namespace telltale::log {
namespace {

// Beyond so many, who wrote is not told apart: names would be damaged text.
constexpr size_t kMostProcesses = 65536;
constexpr size_t kMostLocations = 1 << 20;

// Without the terminal's colours and other commands: ESC [ parameters letter.
void Uncolour(std::string_view line, std::string& out) {
  out.clear();
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    if (i + 1 == line.size() || line[i + 1] != '[') continue;
    ++i;
    while (i + 1 < line.size() && (line[i + 1] < '@' || line[i + 1] > '~')) ++i;
    ++i;
  }
}

bool Matches(const LogProcess& process, const LinePrefix& prefix) {
  return process.pid == prefix.pid && process.rank == prefix.rank &&
         process.name == prefix.process && process.host == prefix.host &&
         process.roles == prefix.roles;
}

}  // namespace

uint32_t LogBuilder::ProcessOf(const LinePrefix& prefix) {
  if (last_process_ != kNoNumber && Matches(processes_[last_process_], prefix))
    return last_process_;
  std::string key;
  for (const std::string_view part : {prefix.process, prefix.host, prefix.roles}) {
    key.append(part) += '\n';
  }
  key += std::to_string(prefix.pid) + '\n' + std::to_string(prefix.rank);
  const auto found = process_numbers_.find(key);
  if (found != process_numbers_.end()) return last_process_ = found->second;
  if (processes_.size() >= kMostProcesses) {
    ++lines_of_nobody_;
    if (processes_.size() == kMostProcesses) processes_.emplace_back();
    return kMostProcesses;
  }
  last_process_ = static_cast<uint32_t>(processes_.size());
  process_numbers_.emplace(std::move(key), last_process_);
  processes_.push_back({std::string(prefix.process), std::string(prefix.host),
                        std::string(prefix.roles), prefix.pid, prefix.rank});
  return last_process_;
}

// A program's own prefix within that of syslog, which keeps its time.
void LogBuilder::PeelInner(std::string_view& text, LinePrefix& prefix) const {
  const LinePrefix inner = PeelPrefix(text, family_.inner_peels);
  if (inner.level != LogLevel::kNone) prefix.level = inner.level;
  if (!inner.process.empty()) prefix.process = inner.process;
  if (!inner.location.empty()) prefix.location = inner.location;
  if (!inner.roles.empty()) prefix.roles = inner.roles;
  if (inner.pid >= 0) prefix.pid = inner.pid;
  if (inner.rank >= 0) prefix.rank = inner.rank;
  prefix.is_marked = inner.is_marked;
}

void LogBuilder::LookAhead(std::string_view lines) {
  has_looked_ahead_ = true;
  for (int line = 0; line < 1000 && !lines.empty(); ++line) {
    std::string_view rest = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), rest.size() + 1));
    clock_.SeeAhead(PeelPrefix(rest, family_.peels).time);
  }
}

void LogBuilder::Add(std::string_view lines) {
  if (!has_looked_ahead_) LookAhead(lines);
  is_utf8_ = simdjson::validate_utf8(lines.data(), lines.size());
  has_escapes_ = std::memchr(lines.data(), '\x1b', lines.size()) != nullptr;
  while (!lines.empty()) {
    const void* const end = std::memchr(lines.data(), '\n', lines.size());
    const size_t size = end == nullptr
                            ? lines.size()
                            : static_cast<size_t>(static_cast<const char*>(end) - lines.data());
    AddLine(lines.substr(0, size));
    lines.remove_prefix(std::min(lines.size(), size + 1));
  }
}

void LogBuilder::AddLine(std::string_view line) {
  if (++line_ == 1) line = WithoutByteOrderMark(line);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (has_escapes_ && std::memchr(line.data(), '\x1b', line.size()) != nullptr) {
    Uncolour(line, uncoloured_);
    line = uncoloured_;
  }
  if (!is_utf8_ && !simdjson::validate_utf8(line.data(), line.size())) {
    ++not_utf8_;
    repaired_ = StoredText(line);
    line = repaired_;
  }
  std::string_view text = line;
  LinePrefix prefix = PeelPrefix(text, family_.peels);
  if (prefix.is_of_syslog) PeelInner(text, prefix);

  const uint32_t process = ProcessOf(prefix);
  const uint32_t location = prefix.location.empty() || locations_.texts().size() >= kMostLocations
                                ? kNoNumber
                                : locations_.Add(prefix.location);
  const uint32_t head = messages_.HeadOf(line_, process, prefix, location, text);
  TimeBasis basis = TimeBasis::kNone;
  int64_t time_ns = -1;
  if (const auto resolved = clock_.Resolve(prefix.time)) {
    basis = TimeBasis::kWritten;
    time_ns = last_time_ns_ = *resolved;
  } else if (prefix.time.kind == WrittenTime::Kind::kSinceStart) {
    basis = TimeBasis::kSinceStart;
    time_ns = prefix.time.ns;
  } else if (last_time_ns_ >= 0) {
    basis = TimeBasis::kLineBefore;
    time_ns = last_time_ns_;
  }
  rows_.line.push_back(line_);
  rows_.head.push_back(head);
  rows_.process.push_back(process);
  rows_.location.push_back(location);
  const bool is_indented = text.empty() || text.front() == ' ' || text.front() == '\t';
  rows_.templates.push_back(is_indented ? kNoNumber : templates_.Add(text));
  rows_.time_ns.push_back(time_ns);
  rows_.basis.push_back(basis);
  rows_.level.push_back(prefix.level);
  rows_.text.append(text);
  rows_.text_end.push_back(rows_.text.size());
  // What users send to engines may say anything.
  std::string_view clear = text;
  if (text.starts_with("Received request ")) {
    const size_t colon = text.find(": ");
    if (colon != std::string_view::npos) clear = text.substr(0, colon + 1);
  }
  clues_.Read({clear, line_, process, basis == TimeBasis::kSinceStart ? -1 : time_ns,
               prefix.is_marked && prefix.level == LogLevel::kWarning},
              rows_.observed);
}

LogRows LogBuilder::TakeRows() {
  LogRows rows = std::move(rows_);
  rows_ = {};
  rows_.observed.recent = rows.observed.recent;
  return rows;
}

}  // namespace telltale::log
