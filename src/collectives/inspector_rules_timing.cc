#include "collectives/inspector_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace telltale::collectives {
namespace {

// Small collectives take some tens of microseconds, so a communicator may well finish this many.
constexpr double kOrdinaryOperationsPerSecond = 10'000;

constexpr int64_t kLargestRing = std::numeric_limits<uint32_t>::max();  // the plugin's own limit

std::string Duration(int64_t microseconds) {
  if (microseconds >= kMicrosecondsPerSecond && microseconds % 100'000 == 0) {
    return fmt::format("{} s", static_cast<double>(microseconds) / 1e6);
  }
  if (microseconds >= 1000 && microseconds % 100 == 0) {
    return fmt::format("{} ms", static_cast<double>(microseconds) / 1e3);
  }
  return fmt::format("{} us", microseconds);
}

// Down to one significant digit.
int64_t RoundDown(double value) {
  if (value < 1) return 1;
  const double unit = std::pow(10, std::floor(std::log10(value)));
  return static_cast<int64_t>(std::floor(value / unit) * unit);
}

int64_t PowerOfTwoAtLeast(double value) {
  int64_t power = 1024;
  while (static_cast<double>(power) < value && power < (int64_t{1} << 31)) power *= 2;
  return power;
}

void CheckIntervalOff(Examination& exam) {
  if (exam.IsRccl() && exam.AtLeast(kRcclFinalDump)) {
    exam.Add(Severity::kWarning, "interval_off", kIntervalName,
             "all but the last ring of operations of each communicator: without an interval newer "
             "RCCL builds write once, at teardown, and older ones never",
             Export(kIntervalName, kSuggestedIntervalUs), "ROCm/rocm-systems 10660");
    return;
  }
  if (exam.Older(kFirstRings)) {
    exam.Add(Severity::kProblem, "interval_off", kIntervalName,
             "everything: without an interval above 0 nothing is written",
             Export(kIntervalName, kSuggestedIntervalUs));
    return;
  }
  exam.Add(Severity::kProblem, "interval_off", kIntervalName,
           "everything: with a negative interval, which is the default, nothing is written, also "
           "not at the end, whatever older READMEs say",
           Export(kIntervalName, kSuggestedIntervalUs), "seen with 2.30.7");
}

// For a release before the rings. Returns true if there is nothing to say.
bool CheckOldInterval(Examination& exam, int64_t interval) {
  const int64_t rest = interval % kMicrosecondsPerSecond;
  if (*exam.question().version > kLastUnitBug || rest == 0) return true;
  const int64_t seconds = interval / kMicrosecondsPerSecond;
  const std::string real =
      seconds > 0 ? fmt::format("{} s and {} ns", seconds, rest) : fmt::format("{} ns", rest);
  exam.Add(
      Severity::kWarning, "interval_unit", kIntervalName,
      fmt::format("a processor core: up to {} the part below a second is taken as nanoseconds, so "
                  "this waits {} (it also records more operations than it should)",
                  kLastUnitBug.ToText(), real),
      "use 2.29.7 or newer, or whole seconds", "plugin source");
  return false;
}

bool CheckNewInterval(Examination& exam, int64_t interval) {
  if (interval == 0) {
    exam.Add(
        Severity::kWarning, "interval_continuous", kIntervalName,
        exam.question().version
            ? "a processor core of each process: the thread writes without a pause"
            : "a processor core of each process: the thread writes without a pause (in 2.28 and "
              "2.29, 0 means off and loses everything)",
        Export(kIntervalName, kSuggestedIntervalUs));
    return false;
  }
  const int64_t asked = exam.Number(kIntervalName);
  if (exam.WritesPrometheus() && asked < kPromMinimumIntervalUs) {
    exam.Add(Severity::kInfo, "interval_raised", kIntervalName,
             "nothing, but Prometheus files are written every 30 s at most",
             Export(kIntervalName, kPromMinimumIntervalUs));
    return false;
  }
  return true;
}

void CheckLastInterval(Examination& exam, int64_t interval) {
  const bool writes_at_end = exam.IsRccl() && exam.AtLeast(kRcclFinalDump);
  if (!exam.WritesJson() || interval == 0 || writes_at_end) return;
  exam.Add(interval >= kMicrosecondsPerSecond ? Severity::kWarning : Severity::kInfo,
           "last_interval", kIntervalName,
           fmt::format("operations that finish in the last {} of the run: there is no final write",
                       Duration(interval)),
           "let the process live for two intervals after its last collective", "seen with 2.30.7");
}

void CheckThreadAndInterval(Examination& exam) {
  if (!exam.IsUnknown(kThread) && !exam.IsOn(kThread)) {
    const bool dumps_at_end = exam.IsRccl() && exam.AtLeast(kRcclFinalDump);
    exam.Add(dumps_at_end ? Severity::kWarning : Severity::kProblem, "thread_off", kThread,
             dumps_at_end
                 ? "all but the last ring of operations: this RCCL writes once, at teardown"
                 : "everything: only this thread writes",
             Export(kThread, 1));
    return;
  }
  if (exam.IsUnknown(kIntervalName)) return;
  const std::optional<int64_t> interval = exam.IntervalUs();
  if (!interval) {
    CheckIntervalOff(exam);
    return;
  }
  const bool is_fine = exam.Older(kFirstRings) ? CheckOldInterval(exam, *interval)
                                               : CheckNewInterval(exam, *interval);
  CheckLastInterval(exam, *interval);
  if (is_fine) {
    exam.Add(Severity::kOk, "interval", kIntervalName,
             fmt::format("writes every {}", Duration(*interval)), "");
  }
}

void CheckRingAt(Examination& exam, double rate, std::string_view ring_name, std::string_view what,
                 Severity worst, int64_t ring, int64_t interval, const std::string& silence) {
  const double between = rate * static_cast<double>(interval) / 1e6;
  const double room = static_cast<double>(ring);
  const std::string sum = fmt::format("{:g} a second x {} = {:.0f} {} between two writes", rate,
                                      Duration(interval), between, what);
  if (between <= room / 2) {
    exam.Add(Severity::kOk, "ring", ring_name, fmt::format("{} fit into {}", sum, ring), "");
    return;
  }
  const std::string change =
      fmt::format("{}, or {}", Export(kIntervalName, RoundDown(room / 2 / rate * 1e6)),
                  Export(ring_name, PowerOfTwoAtLeast(2 * between)));
  if (between <= room) {
    exam.Add(Severity::kWarning, "ring_tight", ring_name,
             fmt::format("operations in bursts: {}, and the ring holds {}", sum, ring), change,
             "NVIDIA/nccl 2304");
    return;
  }
  exam.Add(worst, "ring_overwrites", ring_name,
           fmt::format("{:.1f} %: {}, and the ring holds {}; the oldest are overwritten{}",
                       100 * (1 - room / between), sum, ring, silence),
           change, "NVIDIA/nccl 2304");
}

// operations between two writes = operations a second x interval; more than the ring are lost.
void CheckRing(Examination& exam, std::string_view ring_name, std::string_view what,
               Severity worst) {
  if (!exam.IsRead(ring_name) || exam.IsUnknown(ring_name) || exam.IsUnknown(kIntervalName)) return;
  const std::optional<int64_t> interval = exam.IntervalUs();
  if (!interval || *interval == 0) return;
  const int64_t ring = std::clamp<int64_t>(exam.Number(ring_name), 1, kLargestRing);
  const double seconds = static_cast<double>(*interval) / 1e6;
  const double limit = static_cast<double>(ring) / seconds;
  const std::string silence =
      exam.AtLeast({2, 30, 8}) ? "" : ", which format v4.0 does not even count";
  if (exam.question().operations_per_second) {
    CheckRingAt(exam, *exam.question().operations_per_second, ring_name, what, worst, ring,
                *interval, silence);
    return;
  }
  exam.Add(
      limit < kOrdinaryOperationsPerSecond ? Severity::kWarning : Severity::kInfo, "ring_limit",
      ring_name,
      fmt::format("{} beyond {:.0f} a second on one communicator (ring {} / interval {}): the "
                  "oldest are overwritten{}",
                  what, limit, ring, Duration(*interval), silence),
      "keep operations a second x interval below half the ring; --ops-per-second N works it out",
      "NVIDIA/nccl 2304");
}

void CheckRings(Examination& exam) {
  CheckRing(exam, kCollRing, "collectives", Severity::kProblem);
  // The rate that is asked about may be one of collectives only.
  if (exam.IsOn(kP2p)) {
    CheckRing(exam, kP2pRing, "Send and Recv operations", Severity::kWarning);
  }
}

}  // namespace

void ExamineTiming(Examination& exam) {
  CheckThreadAndInterval(exam);
  CheckRings(exam);
}

}  // namespace telltale::collectives
