#include "readers/engine_log/engine_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

namespace telltale::engine_log {
namespace {

using log::Fields;
using log::NumberAfter;
using log::Observations;
using log::ObservedLine;
using log::Severity;

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// A number at the front of `text`; commas between thousands are skipped. `unit` gets what follows.
bool TakeReal(std::string_view text, double& value, std::string_view& unit) {
  std::string digits;
  size_t at = 0;
  for (; at < text.size() && digits.size() < 64; ++at) {
    const char c = text[at];
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit || c == '.' || c == '-' || ((c == 'e' || c == 'E' || c == '+') && at > 0)) {
      digits += c;
    } else if (c != ',' || digits.empty() || at + 1 == text.size() || text[at + 1] < '0' ||
               text[at + 1] > '9') {
      break;
    }
  }
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) {
    return false;
  }
  unit = Trimmed(text.substr(at));
  return true;
}

// "GPU KV cache usage" → gpu_kv_cache_usage
std::string MetricName(std::string_view key) {
  std::string name;
  for (const char c : key) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      name += c;
    } else if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c + 32);
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

struct KnownName {
  std::string_view key;
  const char* metric;
};

template <size_t kCount>
std::string NameOf(std::string_view prefix, std::string_view key,
                   const KnownName (&known)[kCount]) {
  for (const KnownName& name : known) {
    if (name.key == key) return name.metric;
  }
  return std::string(prefix) + MetricName(key);
}

}  // namespace

void ReadVllmStatistics(const ObservedLine& line, Observations& out) {
  static constexpr KnownName kNames[] = {
      {"Running", "vllm:num_requests_running"},
      {"Waiting", "vllm:num_requests_waiting"},
      {"Pending", "vllm:num_requests_waiting"},
      {"Swapped", "vllm:num_requests_swapped"},
      {"GPU KV cache usage", "vllm:kv_cache_usage_perc"},
      {"CPU KV cache usage", "vllm:cpu_cache_usage_perc"},
      {"Avg prompt throughput", "vllm:avg_prompt_throughput_toks_per_s"},
      {"Avg generation throughput", "vllm:avg_generation_throughput_toks_per_s"},
      {"Preemptions", "vllm:preemptions_since_last_report"},
  };
  const std::string_view engine = log::Between(line.text, "Engine ", ":");
  const size_t begin = line.text.find("Avg prompt throughput: ");
  std::string_view rest = line.text.substr(std::min(line.text.size(), begin));
  while (!rest.empty()) {
    const size_t end = rest.find(", ");
    std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
    const size_t colon = pair.find(": ");
    if (colon == std::string_view::npos) continue;
    double value = 0;
    std::string_view unit;
    if (!TakeReal(Trimmed(pair.substr(colon + 2)), value, unit)) continue;
    // Ratios are 0 to 1 in the engine's metrics.
    if (unit.starts_with('%')) value /= 100;
    out.Value(line, NameOf("vllm:", Trimmed(pair.substr(0, colon)), kNames), value, engine);
  }
  const auto preemptions = NumberAfter(line.text, "Preemptions: ");
  if (preemptions.value_or(0) > 0) {
    out.events.push_back(
        {line.line,
         "preemption",
         Severity::kWarning,
         -1,
         -1,
         {},
         Fields().Number("requests", preemptions).Text("engine", engine).Finish()});
  }
}

void ReadSglangBatch(const ObservedLine& line, Observations& out) {
  static constexpr KnownName kNames[] = {
      {"#running-req", "sglang:num_running_reqs"},
      {"#queue-req", "sglang:num_queue_reqs"},
      {"token usage", "sglang:token_usage"},
      {"gen throughput (token/s)", "sglang:gen_throughput"},
      {"accept len", "sglang:spec_accept_length"},
      {"accept rate", "sglang:spec_accept_rate"},
      {"#retracted-req", "sglang:num_retracted_reqs"},
  };
  const bool is_prefill = line.text.starts_with("Prefill batch");
  if (!is_prefill && !line.text.starts_with("Decode batch")) return;
  // The name ends with a comma, a full stop in old versions, or a number in brackets.
  std::string_view rest = line.text.substr(line.text.find(' ') + 1);
  rest.remove_prefix(std::min(rest.size(), rest.find_first_of(".,") + 1));
  while (!rest.empty()) {
    const size_t end = rest.find(',');
    const std::string_view pair = Trimmed(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const size_t colon = pair.rfind(": ");
    if (colon == std::string_view::npos) continue;
    double value = 0;
    std::string_view unit;
    const std::string_view text = Trimmed(pair.substr(colon + 2));
    if (text == "True" || text == "False") {
      value = text == "True" ? 1 : 0;
    } else if (!TakeReal(text, value, unit)) {
      continue;
    }
    const char* prefix = is_prefill ? "sglang:prefill_" : "sglang:decode_";
    out.Value(line, NameOf(prefix, Trimmed(pair.substr(0, colon)), kNames), value);
  }
}

void ReadTrainStep(const ObservedLine& line, Observations& out) {
  if (!line.text.starts_with("step:")) return;
  const auto step = NumberAfter(line.text, "step:");
  if (!step || line.text.find("loss:") == std::string_view::npos) return;
  std::string_view rest = line.text;
  Fields fields;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) break;
    const std::string_view key = Trimmed(rest.substr(0, colon));
    rest = Trimmed(rest.substr(colon + 1));
    const size_t end = rest.find(' ');
    double value = 0;
    std::string_view unit;
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!TakeReal(text, value, unit)) continue;
    std::string name = MetricName(key);
    if (unit.starts_with("GiB")) {
      name += "_bytes";
      value *= 1024.0 * 1024 * 1024;
    } else if (unit.starts_with('%')) {
      name += "_ratio";
      value /= 100;
    }
    fields.Real(name, value);
    if (name != "step") out.Value(line, "torchtitan:" + name, value);
  }
  out.events.push_back({line.line, "train_step", Severity::kInfo, -1, -1, {}, fields.Finish()});
}

void ReadIteration(const ObservedLine& line, Observations& out) {
  if (!line.text.starts_with("Iteration(")) return;
  const auto before = [&](std::string_view word) -> std::optional<int64_t> {
    const size_t at = line.text.find(word);
    if (at == std::string_view::npos || at < 2) return std::nullopt;
    const size_t space = line.text.rfind(' ', at - 2);
    if (space == std::string_view::npos) return std::nullopt;
    return NumberAfter(line.text.substr(space), " ");
  };
  out.events.push_back({line.line,
                        "engine_step",
                        Severity::kInfo,
                        -1,
                        -1,
                        {},
                        Fields()
                            .Number("step", NumberAfter(line.text, "Iteration("))
                            .Number("context_requests", before(" context requests"))
                            .Number("context_tokens", before(" context tokens"))
                            .Number("generation_requests", before(" generation requests"))
                            .Number("generation_tokens", before(" generation tokens"))
                            .Real("elapsed_ms", log::RealAfter(line.text, "elapsed time: "))
                            .Finish()});
}

}  // namespace telltale::engine_log
