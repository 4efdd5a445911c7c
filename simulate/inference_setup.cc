#include "simulate/inference_setup.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "simulate/random.h"

namespace telltale::simulate {
namespace {

// What random numbers are for.
enum Draw : uint64_t {
  kArrival = 0x100,
  kPrompt,
  kOutput,
  kAbort,
  kPatience,
  kClientId,
  kIdHigh,
  kIdLow,
  kIdSuffix,
  kTokenise,
  kOffset,
  kDrift,
  kMachine,
  kPid,
};

// 0 < result < 1.
double Uniform(uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

uint32_t Length(uint64_t bits, uint32_t median, double sigma) {
  const double length = std::round(median * std::exp(sigma * NormalFromBits(bits)));
  return static_cast<uint32_t>(std::clamp(length, 1.0, static_cast<double>(kMostTokens)));
}

std::string ExternalId(const InferenceOptions& options, uint32_t number) {
  const uint64_t seed = options.seed;
  const char* prefix = options.engine == Engine::kSglang ? "" : "chatcmpl-";
  // Numbers of clients are not padded: one id is then often the beginning of another.
  if (Uniform(RandomBits(seed, kClientId, number)) < options.client_id_share) {
    return fmt::format("{}{}-{}", prefix, options.client_id_prefix, number);
  }
  return fmt::format("{}{:016x}{:016x}", prefix, RandomBits(seed, kIdHigh, number),
                     RandomBits(seed, kIdLow, number));
}

uint32_t MostTokensOf(const InferenceOptions& options) {
  const uint64_t capacity = uint64_t{options.kv_blocks} * kTokensPerBlock;
  const uint64_t step = options.chunked_prefill ? kMostTokens : options.max_batched_tokens;
  return static_cast<uint32_t>(std::min({uint64_t{kMostTokens}, capacity, step}));
}

bool IsIn(double value, double low, double high) { return value >= low && value <= high; }

Status CheckRequests(const InferenceOptions& options) {
  constexpr uint32_t kMostRequests = 1'000'000;
  if (options.requests == 0 || options.requests > kMostRequests) {
    return Fail("the number of requests must be from 1 to {}", kMostRequests);
  }
  if (!IsIn(options.rate_per_s, 0.001, 1e6)) {
    return Fail("the rate must be from 0.001 to 1e6 requests a second, not {}", options.rate_per_s);
  }
  if (options.prompt_tokens == 0 || options.prompt_tokens > kMostTokens ||
      options.output_tokens == 0 || options.output_tokens > kMostTokens) {
    return Fail("median prompt and output lengths must be from 1 to {} tokens", kMostTokens);
  }
  if (!IsIn(options.aborted_share, 0, 1) || !IsIn(options.client_id_share, 0, 1)) {
    return Fail("shares of requests must be from 0 to 1");
  }
  if (options.unfinished >= options.requests) {
    return Fail("at least one request must finish: {} of {} are to outlast the recording",
                options.unfinished, options.requests);
  }
  for (const char letter : options.client_id_prefix) {
    if (letter <= ' ' || letter > '~' || letter == '"' || letter == '\\') {
      return Fail("the clients' prefix must be of printable ASCII without quotes and spaces");
    }
  }
  return {};
}

Status CheckEngine(const InferenceOptions& options) {
  constexpr uint32_t kMostRanks = 1024;
  if (options.hosts == 0 || options.gpus_per_host == 0 ||
      uint64_t{options.hosts} * options.gpus_per_host > kMostRanks) {
    return Fail("hosts × GPUs of a host must be from 1 to {}", kMostRanks);
  }
  if (options.max_batch == 0 || options.max_batch > kMostTokens) {
    return Fail("the batch must be from 1 to {} requests", kMostTokens);
  }
  if (options.max_batched_tokens < 16 || options.max_batched_tokens > (1U << 20)) {
    return Fail("the tokens of a step must be from 16 to {}", 1 << 20);
  }
  if (options.kv_blocks < 4 || options.kv_blocks > (1U << 24)) {
    return Fail("the KV cache must have from 4 to {} blocks", 1 << 24);
  }
  if (options.layers == 0 || options.layers > 1024 || options.CollectivesPerStep() > 4096) {
    return Fail("layers must be from 1 to 1024, collectives of a step from 0 to 4096");
  }
  return {};
}

}  // namespace

Status CheckOptions(const InferenceOptions& options) {
  TELLTALE_TRY(CheckRequests(options));
  TELLTALE_TRY(CheckEngine(options));
  constexpr double kDayMs = 86'400'000;
  if (!IsIn(options.clock_offset_ms, 0, kDayMs) || !IsIn(options.clock_drift_ppm, 0, 10'000)) {
    return Fail("clocks may be off by 0 to {} ms and drift by 0 to 10000 ppm", kDayMs);
  }
  if (!IsIn(options.trace_from, 0, 1) || !IsIn(options.trace_to, 0, 1) ||
      options.trace_from >= options.trace_to) {
    return Fail("the traced part must be within 0 to 1, and not empty: {} to {}",
                options.trace_from, options.trace_to);
  }
  // From some days after the base of the traces' times to less than 10^14 us after it, beyond which
  // no relative times of real traces lie.
  constexpr uint64_t kFirstUs = 1'767'500'000'000'000;
  constexpr uint64_t kLastUs = 1'867'000'000'000'000;
  if (options.start_us < kFirstUs || options.start_us > kLastUs) {
    return Fail("the start must be from {} to {} us since 1970, not {}", kFirstUs, kLastUs,
                options.start_us);
  }
  if (!IsIn(options.structure_noise, 0, 1)) {
    return Fail("the structure's noise must be from 0 to 1, not {}", options.structure_noise);
  }
  if (options.directory.empty()) return Fail("an output directory is needed");
  return {};
}

std::vector<InferenceHost> MakeHosts(const InferenceOptions& options) {
  std::vector<InferenceHost> hosts(options.hosts);
  for (uint32_t i = 0; i < options.hosts; ++i) {
    const auto either_way = [&](Draw draw, double most) {
      return (2 * Uniform(RandomBits(options.seed, draw, i)) - 1) * most;
    };
    InferenceHost& host = hosts[i];
    host.name = fmt::format("gpu-node-{:02}", i + 1);
    host.machine_id = fmt::format("{:016x}{:016x}", RandomBits(options.seed, kMachine, i, 0),
                                  RandomBits(options.seed, kMachine, i, 1));
    host.clock = {static_cast<int64_t>(options.start_us) * 1000,
                  std::llround(either_way(kOffset, options.clock_offset_ms) * 1e6),
                  either_way(kDrift, options.clock_drift_ppm)};
    const auto first_pid =
        static_cast<uint32_t>(2000 + BelowFromBits(RandomBits(options.seed, kPid, i), 30000));
    host.api_pid = first_pid;
    host.core_pid = first_pid + 137;
    for (uint32_t gpu = 0; gpu < options.gpus_per_host; ++gpu) {
      host.worker_pids.push_back(first_pid + 209 + gpu);
    }
  }
  return hosts;
}

std::vector<InferenceRequest> MakeRequests(const InferenceOptions& options) {
  const uint64_t seed = options.seed;
  const uint32_t most = MostTokensOf(options);
  std::vector<InferenceRequest> requests(options.requests);
  double arrival_s = 0;
  for (uint32_t i = 0; i < options.requests; ++i) {
    InferenceRequest& request = requests[i];
    arrival_s -= std::log(Uniform(RandomBits(seed, kArrival, i))) / options.rate_per_s;
    request.arrival_ns =
        static_cast<int64_t>(options.start_us) * 1000 + std::llround(arrival_s * 1e9);
    request.external_id = ExternalId(options, i);
    request.internal_id = request.external_id;
    if (options.engine == Engine::kVllm) {
      request.internal_id += fmt::format("-{:08x}", RandomBits(seed, kIdSuffix, i) >> 32);
    }
    request.prompt_tokens =
        std::min(Length(RandomBits(seed, kPrompt, i), options.prompt_tokens, 0.8), most - 1);
    const uint32_t room = most - request.prompt_tokens;
    request.outlasts_recording = i + options.unfinished >= options.requests;
    request.output_limit =
        request.outlasts_recording
            ? room
            : std::min(Length(RandomBits(seed, kOutput, i), options.output_tokens, 0.7), room);
    request.queued_ns =
        request.arrival_ns + 400'000 + int64_t{900} * request.prompt_tokens +
        static_cast<int64_t>(BelowFromBits(RandomBits(seed, kTokenise, i), 600'000));
    if (!request.outlasts_recording &&
        Uniform(RandomBits(seed, kAbort, i)) < options.aborted_share) {
      request.abort_ns =
          request.queued_ns + 50'000'000 +
          static_cast<int64_t>(BelowFromBits(RandomBits(seed, kPatience, i), 1'000'000'000));
    }
  }
  return requests;
}

}  // namespace telltale::simulate
