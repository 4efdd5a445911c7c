#include "evidence/link_requests.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "evidence/clocks.h"
#include "evidence/engine_steps.h"
#include "evidence/request_facts.h"
#include "store/bulk_insert.h"

namespace telltale::evidence {
namespace {

// Where nothing is known of two hosts' clocks: what time servers keep hosts within, with much to
// spare.
constexpr int64_t kUnknownClockError = 1'000'000'000;

template <typename Value>
Cell CellOf(const std::optional<Value>& value) {
  return value ? Cell(*value) : Cell();
}
Cell TextCell(std::string_view text) { return text.empty() ? Cell() : Cell(std::string(text)); }

// A rank of an engine. Its step i is step i + shift of the engine's first rank.
struct RankOfEngine {
  size_t process = 0;
  std::ptrdiff_t shift = 0;
};
using Engines = std::vector<std::vector<RankOfEngine>>;

bool AreSame(const StepBatch& a, const StepBatch& b) {
  return a.context_requests == b.context_requests &&
         a.generation_requests == b.generation_requests && a.context_tokens == b.context_tokens;
}

bool AreSame(const StepsOfProcess& a, const StepsOfProcess& b, std::ptrdiff_t shift) {
  const auto size_a = static_cast<std::ptrdiff_t>(a.steps.size());
  const auto size_b = static_cast<std::ptrdiff_t>(b.steps.size());
  const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, -shift);
  const std::ptrdiff_t end = std::min(size_b, size_a - shift);
  if (end <= begin) return false;
  return std::equal(
      b.steps.begin() + begin, b.steps.begin() + end, a.steps.begin() + begin + shift,
      [](const EngineStep& x, const EngineStep& y) { return AreSame(x.batch, y.batch); });
}

// By how much the steps of two ranks of one engine are shifted: profiles of hosts may begin at
// different steps. Only shifts that bring steps of about the same time together; none where several
// would do, as other engines or long runs of equal steps may be.
std::optional<std::ptrdiff_t> ShiftOf(const StepsOfProcess& a, const StepsOfProcess& b) {
  if (a.steps.front().batch.Requests() == std::nullopt) return std::nullopt;
  std::optional<std::ptrdiff_t> found;
  const auto consider = [&](std::ptrdiff_t shift, int64_t start_a_ns, int64_t start_b_ns) {
    if (std::max(start_a_ns, start_b_ns) - std::min(start_a_ns, start_b_ns) > kUnknownClockError) {
      return true;
    }
    if (!AreSame(a, b, shift)) return true;
    const bool is_first = !found;
    found = shift;
    return is_first;
  };
  if (a.steps.size() == b.steps.size() &&
      std::llabs(a.steps.front().start_ns - b.steps.front().start_ns) <= kUnknownClockError &&
      AreSame(a, b, 0)) {
    return 0;
  }
  for (size_t i = 0; i < a.steps.size(); ++i) {
    const auto shift = static_cast<std::ptrdiff_t>(i);
    if (!consider(shift, a.steps[i].start_ns, b.steps.front().start_ns)) return std::nullopt;
  }
  for (size_t i = 1; i < b.steps.size(); ++i) {
    const auto shift = -static_cast<std::ptrdiff_t>(i);
    if (!consider(shift, a.steps.front().start_ns, b.steps[i].start_ns)) return std::nullopt;
  }
  return found;
}

Engines FindEngines(const std::vector<StepsOfProcess>& processes) {
  Engines engines;
  for (size_t i = 0; i < processes.size(); ++i) {
    bool is_known = false;
    for (std::vector<RankOfEngine>& ranks : engines) {
      const auto shift = ShiftOf(processes[ranks.front().process], processes[i]);
      if (!shift) continue;
      ranks.push_back({i, *shift});
      is_known = true;
      break;
    }
    if (!is_known) engines.push_back({{i, 0}});
  }
  return engines;
}

int64_t MedianDuration(const std::vector<EngineStep>& steps) {
  std::vector<int64_t> durations;
  for (const EngineStep& step : steps) durations.push_back(step.duration_ns);
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

class RunLinker {
 public:
  RunLinker(Store& store, Connection& connection, int64_t run)
      : store_(store), connection_(connection), run_(run) {}

  Status Link() {
    TELLTALE_ASSIGN(processes_, LoadSteps(connection_, run_));
    TELLTALE_ASSIGN(logged_, LoadLoggedSteps(connection_, run_));
    TELLTALE_ASSIGN(requests_, LoadRequests(connection_, run_));
    for (const StepsOfProcess& process : processes_) {
      for (const NamedShare& named : process.named) NameRequest(named.id);
    }
    TELLTALE_TRY(EstimateClocksOfRun());
    TELLTALE_TRY(FindPreemption());
    TELLTALE_TRY(Remove());
    TELLTALE_TRY(WriteClocks());
    if (processes_.empty() && logged_.empty() && requests_.facts.empty()) return {};
    TELLTALE_TRY(WriteRequests());
    TELLTALE_TRY(WriteSteps());
    return Relate();
  }

 private:
  // A request of which only a capture tells.
  void NameRequest(const std::string& id) {
    if (requests_.ids.Find(id).empty()) requests_.Of(id);
    for (const uint32_t request : requests_.ids.Find(id))
      requests_.facts[request].in_capture = true;
  }

  Status EstimateClocksOfRun() {
    // The clocks' own loader names runs as people do.
    const std::array<Cell, 1> parameters = {Cell(run_)};
    TELLTALE_ASSIGN(const Table name,
                    connection_.Query("SELECT name FROM run WHERE run = $1", parameters));
    if (name.rows.empty()) return {};
    TELLTALE_ASSIGN(clocks_, HostClocks(connection_, CellText(name.rows[0][0])));
    return {};
  }

  // An engine that reported, and never came near the end of its memory, pre-empted nothing.
  Status FindPreemption() {
    const std::array<Cell, 1> parameters = {Cell(run_)};
    TELLTALE_ASSIGN(
        const Table table,
        connection_.Query(
            "SELECT (SELECT max(m.value) FROM metric_sample m JOIN metric_series s USING (series) "
            "JOIN source f USING (source) WHERE f.run = $1 AND s.name IN "
            "('vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc', 'sglang:token_usage')), "
            "(SELECT count(*)::BIGINT FROM log_event e JOIN source f USING (source) "
            "WHERE f.run = $1 AND e.kind IN ('preemption', 'retraction'))",
            parameters));
    constexpr double kNearTheEnd = 0.9;
    const auto* const usage = std::get_if<double>(&table.rows[0][0]);
    may_preempt_ =
        usage == nullptr || *usage > kNearTheEnd || std::get<int64_t>(table.rows[0][1]) > 0;
    return {};
  }

  const HostClock* ClockOf(const std::string& host) const {
    for (const HostClock& clock : clocks_) {
      if (clock.host == host) return &clock;
    }
    return nullptr;
  }

  Status Remove() {
    const std::array<Cell, 1> parameters = {Cell(run_)};
    TELLTALE_TRY(connection_.Run(
        "DELETE FROM step_request WHERE step IN (SELECT step FROM step WHERE run = $1)",
        parameters));
    for (const char* table : {"step", "request", "host_clock"}) {
      TELLTALE_TRY(
          connection_.Run(fmt::format("DELETE FROM {} WHERE run = $1", table), parameters));
    }
    return {};
  }

  Status WriteClocks() {
    LazyAppender rows(connection_, "host_clock");
    for (const HostClock& clock : clocks_) {
      const auto append = [&](const ClockSegment* part) {
        const auto value = [&](int64_t ClockSegment::*member) {
          return part != nullptr ? Cell(part->*member) : Cell();
        };
        return rows.Append({Cell(run_), Cell(clock.host), Cell(clock.reference_host),
                            value(&ClockSegment::reference_time_ns),
                            value(&ClockSegment::offset_ns), value(&ClockSegment::drift_ppb),
                            value(&ClockSegment::error_ns), Cell(clock.operations),
                            Cell(clock.contradictions),
                            Cell(std::string(ClockBasisName(clock.basis)))});
      };
      if (clock.segments.empty()) TELLTALE_TRY(append(nullptr));
      for (const ClockSegment& part : clock.segments) TELLTALE_TRY(append(&part));
    }
    return rows.Close();
  }

  Status WriteRequests() {
    first_request_ = store_.NextIds(Store::kRequest, requests_.facts.size());
    LazyAppender rows(connection_, "request");
    for (size_t i = 0; i < requests_.facts.size(); ++i) {
      const RequestFacts& facts = requests_.facts[i];
      std::string sources;
      for (const auto& [is_in, name] : {std::pair(facts.in_span, "span"),
                                        {facts.in_log, "log"},
                                        {facts.in_capture, "capture"}}) {
        if (is_in) sources += (sources.empty() ? "" : ", ") + std::string(name);
      }
      TELLTALE_TRY(
          rows.Append({Cell(first_request_ + static_cast<int64_t>(i)), Cell(run_),
                       Cell(requests_.ids.ids()[i]), TextCell(facts.engine), TextCell(facts.host),
                       CellOf(facts.arrival_ns), CellOf(facts.first_token_ns), CellOf(facts.end_ns),
                       Cell(facts.time_error_ns), CellOf(facts.prompt_tokens),
                       CellOf(facts.output_tokens), TextCell(facts.status), Cell(sources)}));
    }
    return rows.Close();
  }

  Status WriteSteps() {
    LazyAppender rows(connection_, "step");
    const auto append = [&](int64_t step, int64_t source, Cell event, Cell line,
                            const std::string& host, Cell process, Cell rank, int64_t number,
                            const StepBatch& batch, Cell start_ns, Cell duration_ns) {
      return rows.Append({Cell(step), Cell(run_), Cell(source), std::move(event), std::move(line),
                          TextCell(host), std::move(process), std::move(rank),
                          Cell(batch.number.value_or(number)), TextCell(batch.engine),
                          TextCell(batch.phase), std::move(start_ns), std::move(duration_ns),
                          CellOf(batch.context_requests), CellOf(batch.context_tokens),
                          CellOf(batch.generation_requests), CellOf(batch.generation_tokens)});
    };
    for (const StepsOfProcess& process : processes_) {
      const int64_t first = store_.NextIds(Store::kStep, process.steps.size());
      first_steps_.push_back(first);
      for (size_t i = 0; i < process.steps.size(); ++i) {
        const EngineStep& step = process.steps[i];
        TELLTALE_TRY(append(
            first + static_cast<int64_t>(i), process.source, Cell(process.events[i]), Cell(),
            process.host, Cell(process.trace_process), CellOf(process.rank),
            static_cast<int64_t>(i), step.batch, Cell(step.start_ns), Cell(step.duration_ns)));
      }
    }
    int64_t number = 0;
    for (const LoggedStep& step : logged_) {
      std::optional<int64_t> start_ns = step.time_ns;
      if (start_ns && step.duration_ns) *start_ns -= *step.duration_ns;
      TELLTALE_TRY(append(store_.NextId(Store::kStep), step.source, Cell(), Cell(step.line),
                          step.host, Cell(), CellOf(step.rank), number++, step.batch,
                          CellOf(start_ns), CellOf(step.duration_ns)));
    }
    return rows.Close();
  }

  // The host whose clock the requests' times are of, as the steps' hosts are named; empty where
  // nothing says it.
  std::string RequestHost() const {
    for (const RequestFacts& facts : requests_.facts) {
      if (facts.host.empty()) continue;
      for (const StepsOfProcess& process : processes_) {
        if (process.host == facts.host || process.host.starts_with(facts.host + ".") ||
            facts.host.starts_with(process.host + ".")) {
          return process.host;
        }
      }
      return facts.host;
    }
    return {};
  }

  Status Relate() {
    LazyAppender rows(connection_, "step_request");
    const std::string request_host = RequestHost();
    for (const std::vector<RankOfEngine>& ranks : FindEngines(processes_)) {
      // The rank that shares the requests' clock; the first one, where the API server runs, if
      // nothing says which.
      RankOfEngine best = ranks.front();
      for (const RankOfEngine& rank : ranks) {
        const StepsOfProcess& known = processes_[best.process];
        const StepsOfProcess& other = processes_[rank.process];
        const bool is_better = request_host.empty()
                                   ? other.rank.value_or(0) < known.rank.value_or(0)
                                   : other.host == request_host && known.host != request_host;
        if (is_better) best = rank;
      }
      for (const RankOfEngine& named : ranks) {
        if (!processes_[named.process].named.empty()) best = named;
      }
      const std::vector<StepRequest> pairs = PairsOf(processes_[best.process], request_host);
      for (const RankOfEngine& rank : ranks) {
        TELLTALE_TRY(WritePairs(pairs, rank, best.shift - rank.shift, rows));
      }
    }
    return rows.Close();
  }

  // Pairs of another rank's steps; its step i is this rank's step i + shift.
  Status WritePairs(const std::vector<StepRequest>& pairs, const RankOfEngine& rank,
                    std::ptrdiff_t shift, LazyAppender& rows) {
    const auto steps = static_cast<std::ptrdiff_t>(processes_[rank.process].steps.size());
    for (const StepRequest& pair : pairs) {
      const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(pair.step) + shift;
      if (step < 0 || step >= steps) continue;
      TELLTALE_TRY(rows.Append(
          {Cell(first_steps_[rank.process] + int64_t{step}), Cell(first_request_ + pair.request),
           Cell(RelationBasisName(pair.basis)), pair.share < 0 ? Cell() : Cell(pair.share),
           pair.tokens < 0 ? Cell() : Cell(pair.tokens)}));
    }
    return {};
  }

  std::vector<StepRequest> PairsOf(const StepsOfProcess& process,
                                   const std::string& request_host) const {
    if (!process.named.empty()) return NamedPairs(process);
    if (requests_.facts.empty()) return {};
    std::vector<EngineStep> steps = process.steps;
    if (steps.front().batch.context_requests == std::nullopt) return {};  // training
    RelateOptions options;
    options.may_preempt = may_preempt_;
    // Without a host the requests' times are of the first rank's.
    const std::string reference = request_host.empty() ? HostOfFirstRank() : request_host;
    if (process.host != reference) options.error_ns = ConvertTo(reference, process.host, steps);
    const int64_t step_ns = MedianDuration(steps);
    std::vector<RequestWindow> windows;
    for (const RequestFacts& facts : requests_.facts) windows.push_back(WindowOf(facts, step_ns));
    return RelateByTime(steps, windows, options).pairs;
  }

  std::string HostOfFirstRank() const {
    const auto first = std::min_element(processes_.begin(), processes_.end(),
                                        [](const StepsOfProcess& a, const StepsOfProcess& b) {
                                          return a.rank.value_or(0) < b.rank.value_or(0);
                                        });
    return first->host;
  }

  // Steps' times as host `to` shows them; returns within which they are right.
  int64_t ConvertTo(const std::string& to, const std::string& from,
                    std::vector<EngineStep>& steps) const {
    const HostClock* const source = ClockOf(from);
    const HostClock* const target = ClockOf(to);
    if (source == nullptr || target == nullptr) return kUnknownClockError;
    int64_t error_ns = 0;
    std::vector<EngineStep> converted = steps;
    for (EngineStep& step : converted) {
      const auto reference = ReferenceTimesOf(*source, step.start_ns);
      if (!reference) return kUnknownClockError;
      const auto low = OffsetAt(*target, reference->lower_ns);
      const auto high = OffsetAt(*target, reference->upper_ns);
      if (!low || !high) return kUnknownClockError;
      const int64_t from_ns = reference->lower_ns + low->lower_ns;
      const int64_t to_ns = reference->upper_ns + high->upper_ns;
      step.start_ns = from_ns + (to_ns - from_ns) / 2;
      error_ns = std::max(error_ns, (to_ns - from_ns) / 2 + 1);
    }
    steps = std::move(converted);
    return error_ns;
  }

  std::vector<StepRequest> NamedPairs(const StepsOfProcess& process) const {
    std::map<uint32_t, int64_t> totals;
    for (const NamedShare& named : process.named) totals[named.step] += named.tokens;
    std::vector<StepRequest> pairs;
    for (const NamedShare& named : process.named) {
      const std::vector<uint32_t> requests = requests_.ids.Find(named.id);
      for (const uint32_t request : requests) {
        const int64_t total = totals.at(named.step);
        StepRequest pair{named.step, request, RelationBasis::kId, -1, named.tokens};
        if (total > 0) pair.share = static_cast<double>(named.tokens) / static_cast<double>(total);
        // An id that fits several requests is not certain for any.
        if (requests.size() > 1) {
          pair.basis = RelationBasis::kWindow;
          pair.share /= static_cast<double>(requests.size());
        }
        pairs.push_back(pair);
      }
    }
    return pairs;
  }

  Store& store_;
  Connection& connection_;
  int64_t run_;
  std::vector<StepsOfProcess> processes_;
  std::vector<LoggedStep> logged_;
  RunRequests requests_;
  std::vector<HostClock> clocks_;
  std::vector<int64_t> first_steps_;  // by process
  int64_t first_request_ = 0;
  bool may_preempt_ = true;
};

}  // namespace

Status LinkRequests(Store& store) {
  TELLTALE_ASSIGN(auto connection, store.Connect());
  TELLTALE_ASSIGN(
      const Table runs,
      connection->Query(
          "SELECT f.run, string_agg(f.source::VARCHAR, ',' ORDER BY f.source) AS sources "
          "FROM source f WHERE f.format <> 'nccl_inspector' GROUP BY f.run "
          "EXCEPT SELECT run, sources FROM request_link ORDER BY 1"));
  for (const auto& row : runs.rows) {
    TELLTALE_TRY(connection->Run("BEGIN"));
    const auto link = [&]() -> Status {
      TELLTALE_TRY(RunLinker(store, *connection, std::get<int64_t>(row[0])).Link());
      const std::array<Cell, 2> mark = {row[0], row[1]};
      TELLTALE_TRY(
          connection->Run("DELETE FROM request_link WHERE run = $1", std::span(mark).first(1)));
      return connection->Run("INSERT INTO request_link VALUES ($1, $2)", mark);
    };
    if (const Status status = link(); !status) {
      (void)connection->Run("ROLLBACK");
      return status;
    }
    TELLTALE_TRY(connection->Run("COMMIT"));
  }
  return runs.rows.empty() ? Status() : store.Checkpoint();
}

}  // namespace telltale::evidence
