#include "evidence/request_facts.h"

#include <algorithm>
#include <array>
#include <map>

#include "evidence/cells.h"

namespace telltale::evidence {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

std::optional<int64_t> Later(std::optional<int64_t> base, std::optional<int64_t> by) {
  int64_t sum = 0;
  if (!base || !by || *by < 0 || __builtin_add_overflow(*base, *by, &sum)) return std::nullopt;
  return sum;
}

void Widen(RequestFacts& facts, std::optional<int64_t> from_ns, std::optional<int64_t> to_ns) {
  if (from_ns) facts.arrival_ns = std::min(facts.arrival_ns.value_or(*from_ns), *from_ns);
  facts.end_ns = facts.end_ns && to_ns ? std::max(facts.end_ns, to_ns) : std::nullopt;
  facts.scheduled_ns = facts.first_token_ns = facts.prefill_ns = facts.inference_ns = std::nullopt;
}

// vLLM: a span for each request that has finished.
Status LoadVllmSpans(Connection& connection, int64_t run, RunRequests& requests) {
  const std::array<Cell, 1> parameters = {Cell(run)};
  TELLTALE_ASSIGN(const Table table, connection.Query(
                                         R"(WITH requests AS (
               SELECT s.*, json_extract_string(s.attributes, '$."gen_ai.request.id"') AS id
               FROM span s JOIN source f USING (source)
               WHERE f.run = $1 AND s.name = 'llm_request' AND json_valid(s.attributes))
             SELECT id, coalesce(service, ''), coalesce(host, ''), start_ns, end_ns,
                    try_cast(try_cast(json_extract_string(attributes, '$."gen_ai.latency.time_in_queue"') AS DOUBLE) * 1e9 AS BIGINT),
                    try_cast(try_cast(json_extract_string(attributes, '$."gen_ai.latency.time_to_first_token"') AS DOUBLE) * 1e9 AS BIGINT),
                    coalesce(try_cast(json_extract_string(attributes, '$."gen_ai.usage.prompt_tokens"') AS BIGINT),
                             try_cast(json_extract_string(attributes, '$."gen_ai.usage.input_tokens"') AS BIGINT)),
                    coalesce(try_cast(json_extract_string(attributes, '$."gen_ai.usage.completion_tokens"') AS BIGINT),
                             try_cast(json_extract_string(attributes, '$."gen_ai.usage.output_tokens"') AS BIGINT)),
                    coalesce(try_cast(json_extract_string(attributes, '$."gen_ai.usage.num_sequences"') AS BIGINT),
                             try_cast(json_extract_string(attributes, '$."gen_ai.request.n"') AS BIGINT)),
                    try_cast(try_cast(json_extract_string(attributes, '$."gen_ai.latency.time_in_model_prefill"') AS DOUBLE) * 1e9 AS BIGINT),
                    try_cast(try_cast(json_extract_string(attributes, '$."gen_ai.latency.time_in_model_inference"') AS DOUBLE) * 1e9 AS BIGINT)
             FROM requests WHERE id IS NOT NULL AND start_ns IS NOT NULL
             ORDER BY attributes NOT LIKE '%gen_ai.latency.%', start_ns, id)",
                                         parameters));
  for (const auto& row : table.rows) {
    RequestFacts& facts = requests.Of(CellText(row[0]));
    const bool has_details = IntegerOf(row[5]).has_value() || IntegerOf(row[6]).has_value();
    if (facts.in_span) {
      // Of an id that came twice, only the time from the first to the last is known. What stands
      // before an engine (a router) may have a span of the same name, without the engine's times.
      if (has_details || !facts.has_details) Widen(facts, IntegerOf(row[3]), IntegerOf(row[4]));
      continue;
    }
    facts.in_span = true;
    facts.has_details = has_details;
    facts.engine = CellText(row[1]).find("sglang") == std::string::npos ? "vllm" : "sglang";
    facts.host = CellText(row[2]);
    facts.arrival_ns = IntegerOf(row[3]);
    facts.end_ns = IntegerOf(row[4]);
    facts.scheduled_ns = Later(facts.arrival_ns, IntegerOf(row[5]));
    facts.first_token_ns = Later(facts.arrival_ns, IntegerOf(row[6]));
    facts.prompt_tokens = IntegerOf(row[7]);
    facts.output_tokens = IntegerOf(row[8]);
    facts.sequences = std::max<int64_t>(1, IntegerOf(row[9]).value_or(1));
    facts.prefill_ns = IntegerOf(row[10]);
    facts.inference_ns = IntegerOf(row[11]);
    facts.status = "finished";
  }
  return {};
}

// SGLang: a span for each request, and below it one for each of its stages.
Status LoadSglangSpans(Connection& connection, int64_t run, RunRequests& requests) {
  const std::array<Cell, 1> parameters = {Cell(run)};
  TELLTALE_ASSIGN(const Table table, connection.Query(
                                         R"(WITH spans AS (
               SELECT s.* FROM span s JOIN source f USING (source) WHERE f.run = $1),
             roots AS (
               SELECT trace_id, json_extract_string(attributes, '$.rid') AS id, start_ns, end_ns, coalesce(host, '') AS host
               FROM spans WHERE json_valid(attributes) AND json_extract_string(attributes, '$.rid') IS NOT NULL)
             SELECT r.id, r.host, r.start_ns, r.end_ns, s.name, s.start_ns, s.end_ns
             FROM roots r LEFT JOIN spans s ON s.trace_id = r.trace_id
                  AND s.name IN ('prefill_forward', 'chunked_prefill', 'decode_loop', 'prefill_waiting',
                                 'decode_forward')
                  AND s.start_ns IS NOT NULL AND s.end_ns IS NOT NULL
             WHERE r.start_ns IS NOT NULL
             ORDER BY r.start_ns, r.id, s.start_ns)",
                                         parameters));
  for (const auto& row : table.rows) {
    RequestFacts& facts = requests.Of(CellText(row[0]));
    facts.in_span = true;
    facts.engine = "sglang";
    facts.host = CellText(row[1]);
    facts.arrival_ns = IntegerOf(row[2]);
    facts.end_ns = IntegerOf(row[3]);
    facts.status = "finished";
    const std::string stage = CellText(row[4]);
    const auto from_ns = IntegerOf(row[5]);
    const auto to_ns = IntegerOf(row[6]);
    if (!from_ns || !to_ns || *from_ns > *to_ns) continue;
    if (stage == "prefill_waiting") {
      facts.scheduled_ns = std::max(facts.scheduled_ns.value_or(*to_ns), *to_ns);
    } else if (stage == "prefill_forward" || stage == "chunked_prefill") {
      facts.context_stages.push_back({*from_ns, *to_ns});
      if (stage == "prefill_forward" && !facts.first_token_ns) facts.first_token_ns = to_ns;
    } else {
      facts.generation_stages.push_back({*from_ns, *to_ns});
    }
  }
  return {};
}

// The request that a line names: one that a span tells of, with or without an engine's suffix; or
// one of lines, if the engine's random suffix says so. Ids that end in a number of their own are
// requests of their own.
RequestFacts& OfLine(RunRequests& requests, const std::string& id) {
  const std::vector<uint32_t> known = requests.ids.Find(id);
  if (known.size() == 1) {
    const std::string& name = requests.ids.ids()[known.front()];
    constexpr size_t kRandomSuffix = 9;  // -b958a13d
    const bool has_random_suffix = id.size() >= name.size() + kRandomSuffix;
    // Where lines name the plain id too, one that ends in a number is another request's.
    const RequestFacts& facts = requests.facts[known.front()];
    if (name == id || has_random_suffix || (facts.in_span && !facts.in_log)) {
      return requests.facts[known.front()];
    }
  }
  return requests.Of(id);
}

Status LoadLogs(Connection& connection, int64_t run, RunRequests& requests) {
  const std::array<Cell, 1> parameters = {Cell(run)};
  TELLTALE_ASSIGN(
      const Table table,
      connection.Query(
          R"(SELECT e.kind, json_extract_string(e.fields, '$.request'), CASE WHEN l.time_basis IN (1, 2) THEN l.time_ns END,
                    coalesce(p.host, ''), z.end_ns
             FROM log_event e JOIN source f USING (source)
             JOIN log_line l ON l.source = e.source AND l.line = e.line
             LEFT JOIN log_process p ON p.log_process = l.log_process
             LEFT JOIN (SELECT source, max(time_ns) FILTER (time_basis = 1) AS end_ns FROM log_line GROUP BY source) z
               ON z.source = e.source
             WHERE f.run = $1 AND e.kind IN ('request_received', 'request_added', 'request_aborted',
                                             'request_finished', 'request_failed')
               AND json_extract_string(e.fields, '$.request') IS NOT NULL
             ORDER BY length(json_extract_string(e.fields, '$.request')), l.time_ns, e.log_event)",
          parameters));
  for (const auto& row : table.rows) {
    const std::string kind = CellText(row[0]);
    const std::string id = CellText(row[1]);
    const auto time_ns = IntegerOf(row[2]);
    // Shorter ids come first: a longer one may be the same with an engine's suffix.
    RequestFacts& facts = OfLine(requests, id);
    facts.in_log = true;
    if (const auto end_ns = IntegerOf(row[4])) {
      facts.log_end_ns = std::max(facts.log_end_ns.value_or(*end_ns), *end_ns);
    }
    if (facts.engine.empty()) facts.engine = "vllm";
    // A span is exact where a line has whole seconds.
    if (facts.in_span || !time_ns) continue;
    if (facts.host.empty()) facts.host = CellText(row[3]);
    if (*time_ns % kSecond == 0) facts.time_error_ns = kSecond;
    if (kind == "request_received" || kind == "request_added") {
      // One that comes again after its end: from the first time on, without an end.
      if (facts.end_ns && *time_ns > *facts.end_ns) {
        facts.end_ns = std::nullopt;
        facts.status.clear();
      }
      facts.arrival_ns = std::min(facts.arrival_ns.value_or(*time_ns), *time_ns);
    } else {
      facts.end_ns = time_ns;
      facts.status = kind.substr(kind.find('_') + 1);
    }
  }
  return {};
}

// How long a request took to the engine and its first token back is known together only:
// scheduled_ns may be too early by that.
std::optional<int64_t> HandOverNs(const RequestFacts& facts) {
  if (!facts.scheduled_ns || !facts.prefill_ns || !facts.inference_ns) return std::nullopt;
  const int64_t rest_ns = *facts.first_token_ns - *facts.scheduled_ns - *facts.prefill_ns;
  if (rest_ns < 0 || *facts.prefill_ns < 0 || *facts.inference_ns < *facts.prefill_ns) {
    return std::nullopt;
  }
  return rest_ns;
}

void Narrow(const RequestFacts& facts, int64_t step_ns, RequestWindow& window) {
  const bool has_finished = facts.end_ns && facts.status == "finished";
  if (const auto hand_over_ns = HandOverNs(facts)) {
    // Readings of one host's clock, as seconds in doubles.
    constexpr int64_t kReading = 100'000;
    const int64_t first_ns = *facts.scheduled_ns + *facts.prefill_ns;
    const int64_t last_ns = *facts.scheduled_ns + *facts.inference_ns;
    window.generation.from_ns = std::max(window.active.from_ns, first_ns - kReading);
    window.prefill.to_ns = first_ns + *hand_over_ns + kReading;
    if (!has_finished) return;
    window.active.to_ns = window.generation.to_ns =
        std::min(window.active.to_ns, last_ns + *hand_over_ns + kReading);
    window.certain = {first_ns + *hand_over_ns + kReading, last_ns - kReading};
    return;
  }
  // The first token is told of when it has left the engine: a step or two may have begun since.
  constexpr int64_t kHandOn = 20'000'000;
  const int64_t slack_ns = kHandOn + 2 * step_ns;
  window.generation.from_ns = std::max(window.active.from_ns, *facts.first_token_ns - slack_ns);
  window.prefill.to_ns = *facts.first_token_ns;
  if (has_finished) {
    window.certain = {*facts.first_token_ns + slack_ns, *facts.end_ns - slack_ns};
  }
}

}  // namespace

RequestFacts& RunRequests::Of(std::string_view id) {
  const uint32_t number = ids.Add(id);
  if (facts.size() <= number) facts.resize(number + 1);
  return facts[number];
}

Result<RunRequests> LoadRequests(Connection& connection, int64_t run) {
  RunRequests requests;
  TELLTALE_TRY(LoadVllmSpans(connection, run, requests));
  TELLTALE_TRY(LoadSglangSpans(connection, run, requests));
  TELLTALE_TRY(LoadLogs(connection, run, requests));
  return requests;
}

RequestWindow WindowOf(const RequestFacts& facts, int64_t step_ns) {
  RequestWindow window;
  window.sequences = facts.sequences;
  window.prompt_tokens = facts.prompt_tokens.value_or(-1);
  const int64_t end_ns = facts.end_ns ? *facts.end_ns + facts.time_error_ns : kOpenEnd;
  if (!facts.arrival_ns && !facts.end_ns) {
    // Only named somewhere: it may have been there at any time.
    window.is_loose = true;
    window.active = window.generation = window.prefill = {-kOpenEnd, kOpenEnd};
    return window;
  }
  const int64_t arrival_ns = facts.arrival_ns.value_or(-kOpenEnd);
  window.is_loose = !facts.arrival_ns;
  if (!facts.end_ns) window.loose_after_ns = facts.log_end_ns.value_or(-kOpenEnd);
  window.active = {facts.scheduled_ns.value_or(arrival_ns), end_ns};
  window.generation = window.prefill = window.active;
  if (!facts.context_stages.empty() || !facts.generation_stages.empty()) {
    window.has_stages = true;
    window.context_stages = facts.context_stages;
    window.generation_stages = facts.generation_stages;
    return window;
  }
  if (facts.first_token_ns) Narrow(facts, step_ns, window);
  return window;
}

}  // namespace telltale::evidence
