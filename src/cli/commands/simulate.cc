// `telltale simulate training`: NCCL Inspector logs of a simulated training job, with known faults.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/list.h"
#include "cli/commands/simulate_inference.h"
#include "cli/output.h"
#include "simulate/profile.h"
#include "simulate/training.h"

namespace telltale::cli {
namespace {

using simulate::AllToAll;
using simulate::InspectorFormat;
using simulate::NcclVersion;
using simulate::TrainingOptions;
using simulate::TrainingSummary;

constexpr const char* kExamples = R"(
The files are what the Inspector's plugin of NCCL writes, byte for byte; what was injected and where is in
DIR.truth.json. The same options give the same files.

Examples:
  telltale simulate training --out job
      64 ranks on 8 hosts, nothing wrong
  telltale simulate training --out job --ranks 16 --steps 40 --fault late-rank:rank=11,ms=3,from=0.3,to=0.5
      rank 11 comes 3 ms late to WORLD and DP operations for a fifth of the job
  telltale simulate training --out job --ranks 2048 --pp 8 --layers 96 --hidden 18432 --micro-batches 16 \
      --records 37500000
      the size of a large job: 2048 files, 18 GB
  telltale simulate training --out job --format v4.3 --fault ring-loss:ring=16 --gzip

Faults (from and to are parts of the job, 0 to 1; ranks and hosts count from 0):
)";

struct Request {
  TrainingOptions options;
  std::vector<std::string> faults;
  uint64_t records = 0;
  uint64_t bytes = 0;
  std::string format = "v4.0";
  std::string nccl = "2.30";
  std::string all_to_all = "send-recv";
};

template <typename Value>
using Names = std::map<std::string, Value>;

const Names<InspectorFormat> kFormats = {{"v4.0", InspectorFormat::kV40},
                                         {"v4.1", InspectorFormat::kV41},
                                         {"v4.2", InspectorFormat::kV42},
                                         {"v4.3", InspectorFormat::kV43},
                                         {"v4.4", InspectorFormat::kV44}};
const Names<NcclVersion> kReleases = {
    {"2.28", NcclVersion::k228}, {"2.29", NcclVersion::k229}, {"2.30", NcclVersion::k230}};
const Names<AllToAll> kExchanges = {{"send-recv", AllToAll::kSendRecv},
                                    {"native", AllToAll::kNative}};

void Print(const TrainingSummary& summary, const GlobalOptions& global) {
  Table table;
  table.columns = {{"directory", "VARCHAR"},  {"truth", "VARCHAR"},
                   {"steps", "UBIGINT"},      {"files", "UBIGINT"},
                   {"records", "UBIGINT"},    {"dump_stats", "UBIGINT"},
                   {"text_bytes", "UBIGINT"}, {"lost_operations", "UBIGINT"}};
  table.rows.push_back({summary.directory, summary.truth_path, uint64_t{summary.steps},
                        summary.files, summary.records, summary.dump_stats, summary.text_bytes,
                        summary.lost});
  PrintTable(table, global, "simulate/1", "jobs");
}

void RunTraining(Request request, const GlobalOptions& global) {
  TrainingOptions& options = request.options;
  options.format = kFormats.at(request.format);
  options.nccl = kReleases.at(request.nccl);
  options.all_to_all = kExchanges.at(request.all_to_all);
  if (request.records > 0) options.target_records = request.records;
  if (request.bytes > 0) options.target_bytes = request.bytes;
  for (const std::string& text : request.faults) {
    auto fault = simulate::ParseFault(text);
    if (!fault) throw CommandFailure(fault.error().message, kExitUsage);
    options.faults.push_back(std::move(*fault));
  }
  Result<TrainingSummary> summary = [&] {
    ProgressLine line(global.ShowProgress());
    return simulate::SimulateTraining(
        options, [&](double part) { line.Draw(fmt::format("simulating {:3.0f} %", 100 * part)); });
  }();
  Print(ValueOrThrow(std::move(summary)), global);
}

// Adds options to one group of the command's help, each with its default.
class OptionGroup {
 public:
  OptionGroup(CLI::App& command, std::string name) : command_(&command), name_(std::move(name)) {}

  template <typename Value>
  CLI::Option* Add(const std::string& flag, Value& value, const std::string& help) {
    return command_->add_option(flag, value, help)->capture_default_str()->group(name_);
  }
  // Without a default to show.
  template <typename Value>
  CLI::Option* AddUnset(const std::string& flag, Value& value, const std::string& help) {
    return command_->add_option(flag, value, help)->group(name_);
  }
  template <typename Value>
  void AddChoice(const std::string& flag, std::string& name, const Names<Value>& names,
                 const std::string& help) {
    std::vector<std::string> choices;
    for (const auto& [choice, value] : names) choices.push_back(choice);
    Add(flag, name, help)->check(CLI::IsMember(choices));
  }
  void AddFlag(const std::string& flag, bool& value, const std::string& help) {
    command_->add_flag(flag, value, help)->group(name_);
  }

 private:
  CLI::App* command_;
  std::string name_;
};

void AddJobOptions(CLI::App& command, Request& request) {
  TrainingOptions& options = request.options;
  OptionGroup job(command, "Job");
  job.Add("--ranks", options.ranks, "GPUs, with a process each");
  job.Add("--gpus-per-host", options.gpus_per_host, "GPUs of a host");
  job.AddUnset("--tp", options.tensor_parallel, "tensor parallel size (default: up to 8)")
      ->check(CLI::PositiveNumber);
  job.Add("--pp", options.pipeline_parallel, "pipeline parallel size; DP = ranks / TP / PP");
  job.Add("--ep", options.expert_parallel, "expert parallel size, a divisor of DP");
  CLI::Option* steps = job.Add("--steps", options.steps, "training steps");
  CLI::Option* records = job.AddUnset("--records", request.records,
                                      "as many steps (at least 1) as write about N records")
                             ->check(CLI::PositiveNumber)
                             ->excludes(steps);
  job.AddUnset("--target-bytes", request.bytes, "as many steps as write about N bytes, such as 2G")
      ->transform(CLI::AsSizeValue(true))
      ->excludes(steps)
      ->excludes(records);
  job.Add("--layers", options.layers, "layers of the transformer, divided among PP stages");
  job.Add("--hidden", options.hidden_size, "width of a layer");
  job.Add("--sequence", options.sequence_length, "tokens of a sample");
  job.Add("--micro-batches", options.micro_batches, "samples of a step, for each DP rank");
  job.AddChoice("--all-to-all", request.all_to_all, kExchanges, "how experts exchange tokens");
  job.AddUnset("--fault", request.faults, "KIND:key=value,... as below; may be repeated")
      ->expected(1)
      ->take_all();
  job.Add("--seed", options.seed, "of everything random");
}

void AddInspectorOptions(CLI::App& command, Request& request) {
  TrainingOptions& options = request.options;
  OptionGroup inspector(command, "Inspector");
  inspector.AddChoice("--format", request.format, kFormats, "of the log lines");
  inspector.AddChoice("--nccl", request.nccl, kReleases,
                      "release of NCCL; before 2.30 each dump writes only a communicator's last "
                      "operation, and neither names nor Send and Recv");
  inspector.AddFlag("--verbose-events", options.verbose_events, "event traces in every line");
  inspector.Add("--interval-ms", options.interval_ms, "time between dumps");
  inspector.Add("--ring-size", options.ring_size, "operations kept between dumps");
  inspector.Add("--min-size", options.min_size_bytes, "bytes; smaller messages are not recorded")
      ->transform(CLI::AsSizeValue(false));
  inspector.AddFlag("--lose-last-interval", options.lose_last_interval,
                    "no dump at the end, as when a communicator is destroyed");
  inspector.Add("--start-us", options.start_us, "the job's first moment, microseconds UTC");
}

void AddOutputOptions(CLI::App& command, Request& request) {
  TrainingOptions& options = request.options;
  OptionGroup output(command, "Output");
  output.AddUnset("--out", options.directory, "folder for the logs")->required();
  output.AddFlag("--force", options.force, "write into a folder that is not empty");
  output.AddFlag("--gzip", options.gzip, "compress the logs");
  output.AddUnset("--truth", options.truth_path, "file for the truth (default: DIR.truth.json)");
  output.Add("--threads", options.threads, "that write; 0: one a CPU");
}

struct ProfileRequest {
  std::string kind = "kineto";
  std::string out;
  simulate::ProfileOptions options;
};

void RunProfile(const ProfileRequest& request, const GlobalOptions& global) {
  const simulate::ProfileCounts counts = ValueOrThrow(
      request.kind == "kineto" ? simulate::WriteKinetoTrace(request.out, request.options)
                               : simulate::WriteNsightExport(request.out, request.options));
  Table table;
  table.columns = {{"file", "VARCHAR"},
                   {"ranges", "UBIGINT"},
                   {"calls", "UBIGINT"},
                   {"kernels", "UBIGINT"},
                   {"flows", "UBIGINT"}};
  table.rows.push_back({request.out, counts.ranges, counts.calls, counts.kernels, counts.flows});
  PrintTable(table, global, "simulate.profile/1", "files");
}

}  // namespace

void AddSimulateCommand(CLI::App& app, GlobalOptions& global) {
  CLI::App* simulate =
      app.add_subcommand("simulate", "write data in the real formats, with known faults in it");
  simulate->require_subcommand(1);
  auto request = std::make_shared<Request>();
  CLI::App* training =
      simulate->add_subcommand("training", "NCCL Inspector logs of a training job");
  training->footer(kExamples + simulate::FaultHelp());
  AddJobOptions(*training, *request);
  AddInspectorOptions(*training, *request);
  AddOutputOptions(*training, *request);
  training->callback([request, &global] { RunTraining(*request, global); });

  auto profile_request = std::make_shared<ProfileRequest>();
  CLI::App* profile = simulate->add_subcommand(
      "profile", "a profile of training steps: a PyTorch trace, or an Nsight Systems export");
  profile->footer(
      "\nExamples:\n  telltale simulate profile --out trace.json\n  telltale simulate profile "
      "--kind "
      "nsight --ranges 1M --out report.sqlite");
  profile->add_option("--kind", profile_request->kind, "kineto (PyTorch) or nsight (SQLite)")
      ->check(CLI::IsMember({"kineto", "nsight"}));
  profile->add_option("--out", profile_request->out, "file to write")->required();
  profile->add_option("--layers", profile_request->options.layers, "transformer layers (32)");
  profile->add_option("--steps", profile_request->options.steps, "training steps (10)");
  profile
      ->add_option("--target-bytes", profile_request->options.target_bytes,
                   "kineto: size of the file instead of --steps")
      ->transform(CLI::AsSizeValue(true));
  profile
      ->add_option("--ranges", profile_request->options.target_ranges,
                   "nsight: NVTX ranges instead of --steps")
      ->transform(CLI::AsSizeValue(true));
  profile->add_option("--seed", profile_request->options.seed, "of the random numbers");
  profile->callback([profile_request, &global] { RunProfile(*profile_request, global); });
  AddInferenceSimulation(*simulate, global);
}

}  // namespace telltale::cli
