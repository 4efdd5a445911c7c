// A simulated profile as libkineto's output_json.cpp writes it.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "simulate/profile.h"
#include "simulate/profile_program.h"

namespace telltale::simulate {
namespace {

constexpr int64_t kBaseNs = 1'751'410'836'000'000'000;  // as of PyTorch builds of 2025
constexpr int64_t kStartNs = 1'400'000'000'000'000;     // relative times are large, too
constexpr int kPid = 4037;
constexpr size_t kPieceBytes = size_t{4} << 20;

std::string Micros(int64_t ns) {
  const int64_t at = kStartNs + ns;
  return fmt::format("{}.{:03}", at / 1000, at % 1000);
}
std::string Duration(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

const char* CategoryOf(ProfileKind kind) {
  switch (kind) {
    case ProfileKind::kAnnotation:
      return "user_annotation";
    case ProfileKind::kPython:
      return "python_function";
    case ProfileKind::kOperator:
      return "cpu_op";
    case ProfileKind::kCall:
      return "cuda_runtime";
    case ProfileKind::kKernel:
      break;
  }
  return "kernel";
}

void AppendEvent(std::string& out, const ProfileEvent& event) {
  const bool is_kernel = event.kind == ProfileKind::kKernel;
  const std::string name = event.kind == ProfileKind::kAnnotation
                               ? fmt::format("{}#{}", *event.name, event.step)
                               : *event.name;
  fmt::format_to(
      std::back_inserter(out),
      "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": "
      "{},\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      ",
      CategoryOf(event.kind), name, is_kernel ? 0 : kPid,
      is_kernel ? static_cast<int>(event.stream) : kPid, Micros(event.start_ns),
      Duration(event.duration_ns));
  switch (event.kind) {
    case ProfileKind::kPython:
      fmt::format_to(std::back_inserter(out),
                     "\"Python parent id\": {}, \"Python id\": {}, \"Ev Idx\": {}",
                     event.number - 1, event.number, event.number);
      break;
    case ProfileKind::kCall:
      fmt::format_to(std::back_inserter(out),
                     "\"External id\": {},\n      \"cbid\": 211, \"correlation\": {}",
                     event.operator_id, event.number);
      break;
    case ProfileKind::kKernel:
      fmt::format_to(
          std::back_inserter(out),
          "\"External id\": {},\n      \"queued\": 0, \"device\": 0, \"context\": 1,\n      "
          "\"stream\": {}, \"correlation\": {},\n      \"registers per thread\": 40,\n      "
          "\"shared memory\": 400,\n      \"blocks per SM\": 4.740741,\n      \"warps per SM\": "
          "75.851852,\n      \"grid\": [{}, 1, 1],\n      \"block\": [512, 1, 1],\n      \"est. "
          "achieved occupancy %\": 75",
          event.operator_id, event.stream, event.number, 1 + event.number % 640);
      break;
    default:
      fmt::format_to(
          std::back_inserter(out),
          "\"External id\": {},\"Record function id\": 0, \"Sequence number\": {}, \"Fwd "
          "thread id\": 0, \"Ev Idx\": {}",
          event.number, event.number, event.number);
  }
  out += "\n    }\n  },\n";
}

void AppendFlow(std::string& out, const ProfileEvent& event) {
  const bool is_kernel = event.kind == ProfileKind::kKernel;
  fmt::format_to(std::back_inserter(out),
                 "  {{\n    \"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {},\n    "
                 "\"cat\": \"ac2g\", \"name\": \"ac2g\"{}\n  }},\n",
                 is_kernel ? 'f' : 's', event.number, is_kernel ? 0 : kPid,
                 is_kernel ? static_cast<int>(event.stream) : kPid, Micros(event.start_ns),
                 is_kernel ? ", \"bp\": \"e\"" : "");
}

}  // namespace

Result<ProfileCounts> WriteKinetoTrace(const std::string& path, const ProfileOptions& options) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                             std::fclose);
  if (file == nullptr) return Fail("{}: {}", path, SystemErrorText(errno));
  uint64_t written = 0;
  std::string out = fmt::format(
      "{{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {{\n      \"id\": 0, \"name\": "
      "\"simulated GPU\", \"totalGlobalMem\": 85899345920\n    }}\n  ],\n  \"distributedInfo\": "
      "{{\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8}},\n  \"displayTimeUnit\": "
      "\"ms\",\n  "
      "\"baseTimeNanoseconds\": {},\n  \"traceEvents\": [\n",
      kBaseNs);
  const auto flush = [&]() -> Status {
    if (std::fwrite(out.data(), 1, out.size(), file.get()) != out.size()) {
      return Fail("{}: {}", path, SystemErrorText(errno));
    }
    written += out.size();
    out.clear();
    return {};
  };
  ProfileCounts counts;
  ProfileProgram program(options);
  for (uint32_t step = 0; options.target_bytes > 0 ? written + out.size() < options.target_bytes
                                                   : step < options.steps;
       ++step) {
    for (const ProfileEvent& event : program.NextStep()) {
      AppendEvent(out, event);
      if (event.kind == ProfileKind::kCall || event.kind == ProfileKind::kKernel) {
        AppendFlow(out, event);
        ++counts.flows;
      }
      uint64_t& count = event.kind == ProfileKind::kCall     ? counts.calls
                        : event.kind == ProfileKind::kKernel ? counts.kernels
                                                             : counts.ranges;
      ++count;
    }
    if (out.size() > kPieceBytes) TELLTALE_TRY(flush());
  }
  out += fmt::format(
      "  {{\n    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": {}, \"pid\": {}, \"tid\": 0,\n "
      "   "
      "\"args\": {{\n      \"name\": \"python3\"\n    }}\n  }}\n  ],\n  \"traceName\": "
      "\"trace.json\"\n}}\n",
      Micros(0), kPid);
  TELLTALE_TRY(flush());
  return counts;
}

}  // namespace telltale::simulate
