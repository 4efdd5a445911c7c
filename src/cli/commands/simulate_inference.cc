// `telltale simulate inference`: logs, traces and spans of a simulated LLM serving engine.

#include "cli/commands/simulate_inference.h"

#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/output.h"
#include "simulate/inference.h"

namespace telltale::cli {
namespace {

using simulate::Engine;
using simulate::InferenceOptions;
using simulate::InferenceSummary;
using simulate::TraceDetail;

constexpr const char* kExamples = R"(
A folder for each host holds the engine's log and a PyTorch trace of each GPU's rank, all on that host's
own clock; spans.jsonl holds OpenTelemetry spans. What truly happened (steps and the requests in them,
requests, the clocks' offsets) is in DIR.truth.json. The same options give the same files.

Examples:
  telltale simulate inference --out serving
      vLLM on 2 hosts with 2 GPUs each, 200 requests
  telltale simulate inference --out serving --engine sglang --no-spans
      SGLang's log, which names no requests, and traces
  telltale simulate inference --out serving --kv-blocks 400 --rate 20
      a KV cache too small for the load: requests are pre-empted
  telltale simulate inference --out serving --requests 2000 --rate 20 --trace-from 0.4 --trace-to 0.5
      traces of a tenth of the time, in which requests are under way before and after
  telltale simulate inference --out serving --requests 20 --layers 32 --trace-detail operators
      traces of an eager engine's every operator, some 2,240 events a step on each rank
  telltale simulate inference --out serving --clock-offset-ms 0 --clock-drift-ppm 0 --capture
      clocks that agree, and steps that name their requests
)";

const std::map<std::string, Engine> kEngines = {
    {"vllm", Engine::kVllm}, {"vllm-v0", Engine::kVllmV0}, {"sglang", Engine::kSglang}};

const std::map<std::string, TraceDetail> kTraceDetails = {{"steps", TraceDetail::kSteps},
                                                          {"operators", TraceDetail::kOperators}};

struct Request {
  InferenceOptions options;
  std::string engine = "vllm";
  std::string trace_detail = "steps";
  bool no_chunked_prefill = false;
  bool no_spans = false;
  bool bare_all_reduce = false;
};

void Run(Request request, const GlobalOptions& global) {
  InferenceOptions& options = request.options;
  options.engine = kEngines.at(request.engine);
  options.trace_detail = kTraceDetails.at(request.trace_detail);
  options.chunked_prefill = !request.no_chunked_prefill;
  options.spans = !request.no_spans;
  options.collective_args = !request.bare_all_reduce;
  Result<InferenceSummary> result = [&] {
    ProgressLine line(global.ShowProgress());
    return simulate::SimulateInference(
        options, [&](double part) { line.Draw(fmt::format("simulating {:3.0f} %", 100 * part)); });
  }();
  const InferenceSummary summary = ValueOrThrow(std::move(result));
  Table table;
  table.columns = {
      {"directory", "VARCHAR"}, {"truth", "VARCHAR"},        {"files", "UBIGINT"},
      {"steps", "UBIGINT"},     {"traced_steps", "UBIGINT"}, {"finished", "UBIGINT"},
      {"aborted", "UBIGINT"},   {"unfinished", "UBIGINT"},   {"preemptions", "UBIGINT"},
      {"spans", "UBIGINT"},     {"text_bytes", "UBIGINT"}};
  table.rows.push_back({summary.directory, summary.truth_path, summary.files, summary.steps,
                        summary.traced_steps, summary.finished, summary.aborted, summary.unfinished,
                        summary.preemptions, summary.spans, summary.text_bytes});
  PrintTable(table, global, "simulate.inference/1", "engines");
}

// Adds options to one group of the command's help, each with its default.
class Group {
 public:
  Group(CLI::App& command, std::string name) : command_(&command), name_(std::move(name)) {}

  template <typename Value>
  CLI::Option* Add(const std::string& flag, Value& value, const std::string& help) {
    return command_->add_option(flag, value, help)->capture_default_str()->group(name_);
  }
  void AddFlag(const std::string& flag, bool& value, const std::string& help) {
    command_->add_flag(flag, value, help)->group(name_);
  }

 private:
  CLI::App* command_;
  std::string name_;
};

void AddEngineOptions(CLI::App& command, Request& request) {
  InferenceOptions& options = request.options;
  Group engine(command, "Engine");
  engine.Add("--engine", request.engine, "whose formats and scheduling")
      ->check(CLI::IsMember({"vllm", "vllm-v0", "sglang"}));
  engine.Add("--hosts", options.hosts, "hosts");
  engine.Add("--gpus-per-host", options.gpus_per_host,
             "GPUs of a host; the engine is tensor parallel over all hosts' GPUs");
  engine.Add("--max-batch", options.max_batch, "requests in a step, at most");
  engine.Add("--max-batched-tokens", options.max_batched_tokens, "tokens of a step, at most");
  engine.AddFlag("--no-chunked-prefill", request.no_chunked_prefill,
                 "a prompt is computed in one step");
  engine.Add("--kv-blocks", options.kv_blocks, "of the KV cache, 16 tokens each");
  engine.Add("--layers", options.layers,
             "of the model; two kernels each, or with --trace-detail operators some 14");
  engine.Add(
      "--collectives", options.collectives_per_step,
      "of a step: all-reduces among the layers, and one to gather the logits (default: 5; with "
      "--trace-detail operators two all-reduces a layer and the gather)");
}

void AddRequestOptions(CLI::App& command, Request& request) {
  InferenceOptions& options = request.options;
  Group requests(command, "Requests");
  requests.Add("--requests", options.requests, "requests");
  requests.Add("--rate", options.rate_per_s, "arrivals a second, at random times");
  requests.Add("--prompt-tokens", options.prompt_tokens, "median length of prompts");
  requests.Add("--output-tokens", options.output_tokens, "median length of answers");
  requests.Add("--aborted", options.aborted_share, "share of requests whose client leaves early");
  requests.Add("--unfinished", options.unfinished,
               "the last so many requests do not finish while the recording lasts");
  requests.Add("--client-ids", options.client_id_share,
               "share of requests with an id of the client's choice");
  requests.Add("--client-id-prefix", options.client_id_prefix, "how those ids begin");
}

void AddRecordingOptions(CLI::App& command, Request& request) {
  InferenceOptions& options = request.options;
  Group recording(command, "Recording");
  recording.Add("--clock-offset-ms", options.clock_offset_ms,
                "each host's clock is off by up to so much, either way");
  recording.Add("--clock-drift-ppm", options.clock_drift_ppm,
                "and drifts by up to so much, either way");
  recording.Add("--trace-from", options.trace_from,
                "traces begin at this part (0 to 1) of the time in which requests arrive");
  recording.Add("--trace-to", options.trace_to, "and end at this one; 1: with the recording");
  recording.Add("--trace-lag-steps", options.trace_lag_steps,
                "traces of hosts after the first begin so many steps later");
  recording
      .Add("--trace-detail", request.trace_detail,
           "steps: the main operator and kernel of each part of a layer; operators: all of an "
           "eager engine's operators, calls, kernels and copies, some 66 events a layer, which "
           "also take their time")
      ->check(CLI::IsMember({"steps", "operators"}));
  recording.Add(
      "--structure-noise", options.structure_noise,
      "with --trace-detail operators: share of each rank's layers with something that others "
      "do not do (cudaMalloc, cudaFree, cudaEventQuery, a copied tensor)");
  recording.AddFlag("--bare-all-reduce", request.bare_all_reduce,
                    "all-reduces without arguments, as when an engine calls NCCL itself");
  recording.AddFlag("--no-spans", request.no_spans, "no OpenTelemetry spans");
  recording.AddFlag("--capture", options.capture,
                    "steps name their requests, as telltale's own capture does");
  recording.Add("--start-us", options.start_us, "the first moment, microseconds UTC");
  recording.Add("--seed", options.seed, "of everything random");
}

void AddOutputOptions(CLI::App& command, Request& request) {
  InferenceOptions& options = request.options;
  Group output(command, "Output");
  output.Add("--out", options.directory, "folder for the files")->required();
  output.AddFlag("--force", options.force, "write into a folder that is not empty");
  output.AddFlag("--gzip", options.gzip, "compress the traces");
  output.Add("--truth", options.truth_path, "file for the truth (default: DIR.truth.json)");
}

}  // namespace

void AddInferenceSimulation(CLI::App& simulate_command, GlobalOptions& global) {
  auto request = std::make_shared<Request>();
  CLI::App* inference = simulate_command.add_subcommand(
      "inference", "logs, PyTorch traces and spans of an LLM serving engine");
  inference->footer(kExamples);
  AddEngineOptions(*inference, *request);
  AddRequestOptions(*inference, *request);
  AddRecordingOptions(*inference, *request);
  AddOutputOptions(*inference, *request);
  inference->callback([request, &global] { Run(*request, global); });
}

}  // namespace telltale::cli
