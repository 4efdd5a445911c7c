#include "evidence/link_requests.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "evidence/clocks.h"
#include "evidence/engine_ranks.h"
#include "evidence/engine_steps.h"
#include "evidence/host_times.h"
#include "evidence/request_facts.h"
#include "store/bulk_insert.h"
#include "store/transaction.h"

namespace telltale::evidence {
namespace {

template <typename Value>
Cell CellOf(const std::optional<Value>& value) {
  return value ? Cell(*value) : Cell();
}
Cell TextCell(std::string_view text) { return text.empty() ? Cell() : Cell(std::string(text)); }

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
    TELLTALE_ASSIGN(std::vector<HostClock> clocks,
                    HostClocks(connection_, CellText(name.rows[0][0])));
    times_ = HostTimes(std::move(clocks));
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
    for (const HostClock& clock : times_.clocks()) {
      // Where nothing compares any two, the first host is as good a measure as any.
      const std::string& reference =
          clock.reference_host.empty() ? times_.clocks().front().host : clock.reference_host;
      const auto append = [&](const ClockSegment* part) {
        const auto value = [&](int64_t ClockSegment::*member) {
          return part != nullptr ? Cell(part->*member) : Cell();
        };
        return rows.Append(
            {Cell(run_), Cell(clock.host), Cell(reference), value(&ClockSegment::reference_time_ns),
             value(&ClockSegment::offset_ns), value(&ClockSegment::drift_ppb),
             value(&ClockSegment::error_ns), Cell(clock.operations), Cell(clock.contradictions),
             Cell(std::string(ClockBasisName(clock.basis)))});
      };
      if (clock.segments.empty() && clock.basis == ClockBasis::kNone && clock.host != reference) {
        // Only the reports' own times in UTC: hosts keep them by time servers.
        TELLTALE_TRY(rows.Append({Cell(run_), Cell(clock.host), Cell(reference), Cell(),
                                  Cell(int64_t{0}), Cell(), Cell(kUnknownClockError),
                                  Cell(clock.operations), Cell(clock.contradictions),
                                  Cell(std::string(ClockBasisName(ClockBasis::kAnchor)))}));
        continue;
      }
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
    const std::vector<std::vector<RankOfEngine>> engines = FindEngines(processes_, times_);
    const auto serving = std::count_if(engines.begin(), engines.end(), [&](const auto& ranks) {
      return processes_[ranks.front().process].steps.front().batch.Requests().has_value();
    });
    for (const std::vector<RankOfEngine>& ranks : engines) {
      const RankOfEngine best = BestOf(ranks);
      const std::vector<StepRequest> pairs = PairsOf(processes_[best.process], serving > 1);
      for (const RankOfEngine& rank : ranks) {
        // What a rank's own capture says is better than what another's does.
        const bool has_names = !processes_[rank.process].named.empty();
        TELLTALE_TRY(has_names ? WritePairs(NamedPairs(processes_[rank.process]), rank, 0, rows)
                               : WritePairs(pairs, rank, best.shift - rank.shift, rows));
      }
    }
    return rows.Close();
  }

  // The rank that tells most of its steps' requests: by name, or by sharing the requests' clock.
  RankOfEngine BestOf(const std::vector<RankOfEngine>& ranks) const {
    const std::string request_host = ClockHost().value_or("");
    const auto worth = [&](const RankOfEngine& rank) {
      const StepsOfProcess& process = processes_[rank.process];
      return std::tuple(process.named.size(), process.host == request_host,
                        -process.rank.value_or(0), process.steps.size());
    };
    return *std::max_element(
        ranks.begin(), ranks.end(),
        [&](const RankOfEngine& a, const RankOfEngine& b) { return worth(a) < worth(b); });
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

  std::vector<StepRequest> PairsOf(const StepsOfProcess& process, bool has_other_engines) const {
    if (!process.named.empty()) return NamedPairs(process);
    if (requests_.facts.empty()) return {};
    std::vector<EngineStep> steps = process.steps;
    if (!steps.front().batch.context_requests) return {};  // training
    RelateOptions options;
    options.may_preempt = may_preempt_;
    options.has_other_engines = has_other_engines;
    const std::optional<std::string> clock_host = ClockHost();
    if (!clock_host) options.error_ns = kUnknownClockError;
    for (EngineStep& step : steps) {
      if (!clock_host) break;
      const ConvertedTime time = times_.Convert(step.start_ns, process.host, *clock_host);
      step.start_ns = time.time_ns;
      options.error_ns = std::max(options.error_ns, time.error_ns);
    }
    const int64_t step_ns = MedianDuration(steps);
    std::vector<RequestWindow> windows;
    for (const RequestFacts& facts : requests_.facts) windows.push_back(WindowOf(facts, step_ns));
    return RelateByTime(steps, windows, options).pairs;
  }

  // Whose clock the times of requests are of: the host that spans or lines name; else that of rank
  // 0, where the API server runs as a rule. None where neither is there.
  std::optional<std::string> ClockHost() const {
    if (std::string named = RequestHost(); !named.empty()) return named;
    bool is_one_host = true;
    for (const StepsOfProcess& process : processes_) {
      if (process.rank == 0) return process.host;
      is_one_host = is_one_host && process.host == processes_.front().host && !process.rank;
    }
    if (!processes_.empty() && is_one_host) return processes_.front().host;
    return std::nullopt;
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
  HostTimes times_;
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
    const Status linked = InTransaction(*connection, [&]() -> Status {
      TELLTALE_TRY(RunLinker(store, *connection, std::get<int64_t>(row[0])).Link());
      const std::array<Cell, 2> mark = {row[0], row[1]};
      TELLTALE_TRY(
          connection->Run("DELETE FROM request_link WHERE run = $1", std::span(mark).first(1)));
      return connection->Run("INSERT INTO request_link VALUES ($1, $2)", mark);
    });
    TELLTALE_TRY(linked);
  }
  return runs.rows.empty() ? Status() : store.Checkpoint();
}

}  // namespace telltale::evidence
