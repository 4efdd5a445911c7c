#include "readers/nccl_inspector/line_parser.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <simdjson.h>

namespace telltale::nccl_inspector {
namespace {

namespace dom = simdjson::dom;

template <typename T>
using Field = std::optional<T>;

// Reads a JSON value into a typed field; false when it has the wrong type or range.
bool Read(const dom::element& value, Field<uint64_t>& field) {
  uint64_t number = 0;
  if (value.get_uint64().get(number) != simdjson::SUCCESS) return false;
  field = number;
  return true;
}

bool Read(const dom::element& value, Field<int64_t>& field) {
  int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS) return false;
  field = number;
  return true;
}

bool Read(const dom::element& value, Field<std::string>& field) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return false;
  field = std::string(text);
  return true;
}

bool Read(const dom::element& value, Field<bool>& field) {
  bool flag = false;
  if (value.get_bool().get(flag) != simdjson::SUCCESS) return false;
  field = flag;
  return true;
}

// The plugin writes NaN as the string "nan".
bool Read(const dom::element& value, Field<double>& field) {
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS) {
    field = number;
    return true;
  }
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS || (text != "nan" && text != "-nan")) {
    return false;
  }
  field = std::numeric_limits<double>::quiet_NaN();
  return true;
}

struct Header {
  Field<std::string> id, name;
  Field<int64_t> rank, n_ranks;
  Field<uint64_t> nnodes;
};

struct Metadata {
  ProcessKey process;
  Field<uint64_t> dump_timestamp_us;
};

// event_trace_sn and event_trace_ts: which of the two, by the suffix of their keys.
struct EventTrace {
  Field<uint64_t> start, stop;
  struct Kernel {
    Field<uint64_t> channel, start, stop, record;
  };
  std::vector<Kernel> kernels;
};

struct Perf {
  Field<std::string> operation, algorithm, protocol, timing_source;
  Field<int64_t> peer;
  OperationValues values;
  std::optional<EventTrace> trace_sn, trace_us;
};

// Formats after v4.<kNewestMinor>, or with a name that is no v4 at all.
bool IsNewerVersion(const Field<std::string>& version) {
  if (!version || !version->starts_with("v")) return false;
  int major = 0;
  int minor = 0;
  const char* end = version->data() + version->size();
  const auto after_major = std::from_chars(version->data() + 1, end, major);
  if (after_major.ec != std::errc() || after_major.ptr == end || *after_major.ptr != '.')
    return false;
  if (std::from_chars(after_major.ptr + 1, end, minor).ec != std::errc()) return false;
  return major > 4 || (major == 4 && minor > kNewestMinor);
}

bool WritesHeadersOnce(const Field<std::string>& version) {
  return version && (*version == "v4.3" || *version == "v4.4" || IsNewerVersion(version));
}

// Ids of processes, ranks and channels; everything else counts something.
bool MayBeNegative(size_t proxy_op_index) {
  return proxy_op_index >= kOriginPid && proxy_op_index <= kPeer;
}

}  // namespace

struct LineParser::Implementation {
  explicit Implementation(SourceBuilder& source_builder) : builder(source_builder) {}

  LineOutcome Parse(std::string_view line, uint64_t number, MarkerContext& marker);

  // The parts of a line; each returns nullptr or the reason to refuse the line.
  const LossKind* ReadHeader(const dom::object& object, Header& header);
  const LossKind* ReadMetadata(const dom::object& object, Metadata& metadata);
  const LossKind* ReadPerf(const dom::object& object, OperationKind kind, Perf& perf);
  const LossKind* ReadEventTrace(const dom::object& object, std::string_view prefix,
                                 std::string_view suffix, EventTrace& trace);
  const LossKind* ReadProxyTrace(const dom::object& object, ProxyOp& op, ProxyStep& step,
                                 std::vector<ProxyStep>& steps);
  const LossKind* ReadProxySteps(const dom::array& array, std::vector<ProxyStep>& steps);
  template <typename Events>
  const LossKind* ReadProxyEvents(const dom::object& object, std::string_view suffix,
                                  const Events& names, size_t count, Field<uint64_t>* out);

  LineOutcome AddPerf(const Perf& perf, OperationKind kind, uint32_t rank,
                      const Field<uint64_t>& dump_timestamp_us);
  void AddEvents(const Perf& perf, uint32_t series);
  LineOutcome AddDumpStats(const dom::object& object, uint32_t rank, const Metadata& metadata,
                           MarkerContext& marker);
  LineOutcome AddProxy(const dom::object& object, uint32_t rank,
                       const Field<uint64_t>& dump_timestamp_us);

  void UnknownKey(std::string_view key) {
    builder.AddLoss(kUnknownKey, 1, line_number, {}, std::string(key.substr(0, 80)));
  }

  SourceBuilder& builder;
  dom::parser parser;
  uint64_t line_number = 0;
};

LineParser::LineParser(SourceBuilder& builder)
    : implementation_(std::make_unique<Implementation>(builder)) {}
LineParser::~LineParser() = default;

LineOutcome LineParser::Parse(std::string_view line, uint64_t line_number, MarkerContext& context) {
  return implementation_->Parse(line, line_number, context);
}

LineOutcome LineParser::Implementation::Parse(std::string_view line, uint64_t number,
                                              MarkerContext& marker) {
  line_number = number;
  const auto refuse = [&](const LossKind& kind) {
    marker.TakeUnreadable(line);
    LineOutcome outcome;
    outcome.loss = &kind;
    return outcome;
  };
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
    LineOutcome outcome;
    outcome.loss = &kBlankLine;
    return outcome;
  }
  dom::object object;
  const auto error = parser.parse(line.data(), line.size(), false).get_object().get(object);
  if (error == simdjson::INCORRECT_TYPE) return refuse(kUnknownRecord);
  if (error != simdjson::SUCCESS) return refuse(kInvalidJson);

  std::optional<dom::object> header_object, metadata_object, payload;
  std::string_view payload_key;
  size_t payloads = 0;
  for (const auto [key, value] : object) {
    dom::object inner;
    const bool is_object = value.get_object().get(inner) == simdjson::SUCCESS;
    const bool known = key == "header" || key == "metadata" || key == "coll_perf" ||
                       key == "p2p_perf" || key == "dump_stats" || key == "proxy_trace";
    if (!known) {
      UnknownKey(key);
      continue;
    }
    if (!is_object) return refuse(kInvalidValue);
    if (key == "header") {
      header_object = inner;
    } else if (key == "metadata") {
      metadata_object = inner;
    } else {
      payload = inner;
      payload_key = key;
      ++payloads;
    }
  }
  if (payloads != 1) return refuse(kUnknownRecord);

  const bool is_marker = payload_key == "dump_stats";
  const OperationKind kind =
      payload_key == "p2p_perf" ? OperationKind::kP2p : OperationKind::kCollective;
  const PayloadKind payload_kind = payload_key == "coll_perf"  ? PayloadKind::kCollective
                                   : payload_key == "p2p_perf" ? PayloadKind::kP2p
                                                               : PayloadKind::kProxy;
  // Everything is read before anything is added, so that a refused line leaves no trace.
  Perf perf;
  if (payload_kind != PayloadKind::kProxy) {
    if (const LossKind* loss = ReadPerf(*payload, kind, perf)) return refuse(*loss);
  }

  Metadata metadata;
  uint32_t rank = 0;
  Field<uint64_t> dump_timestamp_us;
  bool is_newer_version = false;
  if (header_object) {
    Header header;
    if (const LossKind* loss = ReadHeader(*header_object, header)) return refuse(*loss);
    if (metadata_object) {
      if (const LossKind* loss = ReadMetadata(*metadata_object, metadata)) return refuse(*loss);
    }
    CommunicatorRankKey key;
    key.id = *header.id;
    key.name = header.name;
    key.rank = *header.rank;
    key.n_ranks = *header.n_ranks;
    key.nnodes = header.nnodes;
    key.process = builder.Process(metadata.process);
    rank = builder.CommunicatorRank(key);
    dump_timestamp_us = metadata.dump_timestamp_us;
    if (!is_marker) marker.SawOwnHeader();
    is_newer_version = IsNewerVersion(metadata.process.format_version);
    if (is_newer_version) {
      builder.AddLoss(kNewerVersion, 1, line_number, {}, *metadata.process.format_version);
    }
  } else {
    if (is_marker) return refuse(kMissingField);
    if (!marker.Take(payload_kind)) {
      LineOutcome outcome;
      outcome.loss = &kNoMarker;
      return outcome;
    }
    rank = marker.communicator_rank();
    dump_timestamp_us = marker.dump_timestamp_us();
  }

  if (is_marker) return AddDumpStats(*payload, rank, metadata, marker);
  if (payload_kind == PayloadKind::kProxy) return AddProxy(*payload, rank, dump_timestamp_us);
  LineOutcome outcome = AddPerf(perf, kind, rank, dump_timestamp_us);
  // Such lines are counted one by one, which the fast path does not do.
  if (is_newer_version) outcome.is_operation = false;
  return outcome;
}

const LossKind* LineParser::Implementation::ReadHeader(const dom::object& object, Header& header) {
  for (const auto [key, value] : object) {
    bool good = true;
    if (key == "id") {
      good = Read(value, header.id);
    } else if (key == "comm_name") {
      good = Read(value, header.name);
    } else if (key == "rank") {
      good = Read(value, header.rank);
    } else if (key == "n_ranks") {
      good = Read(value, header.n_ranks);
    } else if (key == "nnodes") {
      good = Read(value, header.nnodes);
    } else {
      UnknownKey(key);
    }
    if (!good) return &kInvalidValue;
  }
  return header.id && header.rank && header.n_ranks ? nullptr : &kMissingField;
}

const LossKind* LineParser::Implementation::ReadMetadata(const dom::object& object,
                                                         Metadata& metadata) {
  for (const auto [key, value] : object) {
    bool good = true;
    ProcessKey& process = metadata.process;
    if (key == "inspector_output_format_version") {
      good = Read(value, process.format_version);
    } else if (key == "git_rev") {
      good = Read(value, process.git_rev);
    } else if (key == "rec_mechanism") {
      good = Read(value, process.rec_mechanism);
    } else if (key == "dump_timestamp_us") {
      good = Read(value, metadata.dump_timestamp_us);
    } else if (key == "hostname") {
      good = Read(value, process.host);
    } else if (key == "pid") {
      good = Read(value, process.pid);
    } else {
      UnknownKey(key);
    }
    if (!good) return &kInvalidValue;
  }
  return nullptr;
}

const LossKind* LineParser::Implementation::ReadPerf(const dom::object& object, OperationKind kind,
                                                     Perf& perf) {
  const std::string_view prefix = kind == OperationKind::kP2p ? "p2p" : "coll";
  for (const auto [key, value] : object) {
    bool good = true;
    if (key == prefix) {
      good = Read(value, perf.operation);
    } else if (key == "event_trace_sn" || key == "event_trace_ts") {
      dom::object inner;
      if (value.get_object().get(inner) != simdjson::SUCCESS) return &kInvalidValue;
      const bool is_sn = key == "event_trace_sn";
      EventTrace& trace = (is_sn ? perf.trace_sn : perf.trace_us).emplace();
      if (const LossKind* loss = ReadEventTrace(inner, prefix, is_sn ? "_sn" : "_ts", trace)) {
        return loss;
      }
    } else if (!key.starts_with(prefix)) {
      UnknownKey(key);
    } else {
      const std::string_view name = key.substr(prefix.size());
      OperationValues& values = perf.values;
      if (name == "_sn") {
        good = Read(value, values.sequence);
      } else if (name == "_msg_size_bytes") {
        good = Read(value, values.message_bytes);
      } else if (name == "_exec_time_us") {
        good = Read(value, values.exec_time_us);
      } else if (name == "_timing_source") {
        good = Read(value, perf.timing_source);
      } else if (name == "_algobw_gbs") {
        good = Read(value, values.algobw_gbs);
      } else if (name == "_busbw_gbs") {
        good = Read(value, values.busbw_gbs);
      } else if (name == "_algo") {
        good = Read(value, perf.algorithm);
      } else if (name == "_proto") {
        good = Read(value, perf.protocol);
      } else if (name == "_peer") {
        good = Read(value, perf.peer);
      } else {
        UnknownKey(key);
      }
    }
    if (!good) return &kInvalidValue;
  }
  return perf.operation && perf.values.sequence ? nullptr : &kMissingField;
}

const LossKind* LineParser::Implementation::ReadEventTrace(const dom::object& object,
                                                           std::string_view prefix,
                                                           std::string_view suffix,
                                                           EventTrace& trace) {
  const auto is = [&](std::string_view key, std::string_view stem) {
    return key.size() == stem.size() + suffix.size() && key.starts_with(stem) &&
           key.ends_with(suffix);
  };
  const std::string start = std::string(prefix) + "_start";
  const std::string stop = std::string(prefix) + "_stop";
  for (const auto [key, value] : object) {
    if (is(key, start)) {
      if (!Read(value, trace.start)) return &kInvalidValue;
    } else if (is(key, stop)) {
      if (!Read(value, trace.stop)) return &kInvalidValue;
    } else if (key == "kernel_events") {
      dom::array kernels;
      if (value.get_array().get(kernels) != simdjson::SUCCESS) return &kInvalidValue;
      for (const dom::element& element : kernels) {
        dom::object fields;
        if (element.get_object().get(fields) != simdjson::SUCCESS) return &kInvalidValue;
        EventTrace::Kernel& kernel = trace.kernels.emplace_back();
        for (const auto [name, number] : fields) {
          bool good = true;
          if (name == "channel_id") {
            good = Read(number, kernel.channel);
          } else if (is(name, "kernel_start")) {
            good = Read(number, kernel.start);
          } else if (is(name, "kernel_stop")) {
            good = Read(number, kernel.stop);
          } else if (is(name, "kernel_record")) {
            good = Read(number, kernel.record);
          } else {
            UnknownKey(name);
          }
          if (!good) return &kInvalidValue;
        }
      }
    } else {
      UnknownKey(key);
    }
  }
  return nullptr;
}

LineOutcome LineParser::Implementation::AddPerf(const Perf& perf, OperationKind kind, uint32_t rank,
                                                const Field<uint64_t>& dump_timestamp_us) {
  SeriesKey key;
  key.communicator_rank = rank;
  key.kind = kind;
  key.operation = *perf.operation;
  key.peer = perf.peer;
  key.message_bytes = perf.values.message_bytes;
  key.algorithm = perf.algorithm;
  key.protocol = perf.protocol;
  key.timing_source = perf.timing_source;
  LineOutcome outcome;
  outcome.communicator_rank = rank;
  outcome.series = builder.SeriesOf(key);
  outcome.is_operation = !perf.trace_sn && !perf.trace_us;
  OperationValues values = perf.values;
  values.dump_timestamp_us = dump_timestamp_us;
  builder.AddOperation(outcome.series, line_number, values);
  if (!outcome.is_operation) AddEvents(perf, outcome.series);
  return outcome;
}

void LineParser::Implementation::AddEvents(const Perf& perf, uint32_t series) {
  const EventTrace none;
  const EventTrace& sn = perf.trace_sn ? *perf.trace_sn : none;
  const EventTrace& us = perf.trace_us ? *perf.trace_us : none;
  OperationEvents events;
  events.series = series;
  events.sequence = perf.values.sequence;
  events.line = line_number;
  events.start_sn = sn.start;
  events.stop_sn = sn.stop;
  events.start_us = us.start;
  events.stop_us = us.stop;
  // The two lists describe the same channels in the same order; where they do not, each entry of
  // each keeps a row of its own.
  const bool paired =
      std::equal(sn.kernels.begin(), sn.kernels.end(), us.kernels.begin(), us.kernels.end(),
                 [](const auto& a, const auto& b) { return a.channel == b.channel; });
  for (const EventTrace::Kernel& kernel : sn.kernels) {
    KernelEvent event;
    event.channel = kernel.channel;
    event.start_sn = kernel.start;
    event.stop_sn = kernel.stop;
    event.record_sn = kernel.record;
    events.kernels.push_back(event);
  }
  for (size_t i = 0; i < us.kernels.size(); ++i) {
    if (!paired) events.kernels.emplace_back().channel = us.kernels[i].channel;
    KernelEvent& event = paired ? events.kernels[i] : events.kernels.back();
    event.start_us = us.kernels[i].start;
    event.stop_us = us.kernels[i].stop;
    event.record_us = us.kernels[i].record;
  }
  builder.data().events.push_back(std::move(events));
}

LineOutcome LineParser::Implementation::AddDumpStats(const dom::object& object, uint32_t rank,
                                                     const Metadata& metadata,
                                                     MarkerContext& marker) {
  LineOutcome outcome;
  outcome.communicator_rank = rank;
  DumpStats stats;
  stats.communicator_rank = rank;
  stats.line = line_number;
  stats.dump_timestamp_us = metadata.dump_timestamp_us;
  for (const auto [key, value] : object) {
    if (key == "proxy_output_mode") {
      if (!Read(value, stats.proxy_output_mode)) outcome.loss = &kInvalidValue;
      continue;
    }
    const auto known = std::find(kDumpStatsKeys.begin(), kDumpStatsKeys.end(), key);
    if (known == kDumpStatsKeys.end()) {
      UnknownKey(key);
      continue;
    }
    auto& counter = stats.counters[static_cast<size_t>(known - kDumpStatsKeys.begin())];
    if (!Read(value, counter)) outcome.loss = &kInvalidValue;
  }
  if (const uint64_t missing = marker.Missing(); missing > 0) {
    // Missing behind the last line of that batch.
    builder.AddLoss(kIncompleteDump, missing, line_number - 1, marker.communicator_rank());
  }
  // A marker that cannot be read announces nothing: its lines are counted as no_marker.
  const auto announced = [&](DumpStatsIndex index) {
    return outcome.loss == nullptr ? stats.counters[index].value_or(0) : 0;
  };
  marker.Start(rank, metadata.dump_timestamp_us,
               {announced(kCollRecords), announced(kP2pRecords), announced(kProxyRecords)},
               WritesHeadersOnce(metadata.process.format_version));
  if (outcome.loss == nullptr) builder.data().dump_stats.push_back(std::move(stats));
  return outcome;
}

template <typename Events>
const LossKind* LineParser::Implementation::ReadProxyEvents(const dom::object& object,
                                                            std::string_view suffix,
                                                            const Events& names, size_t count,
                                                            Field<uint64_t>* out) {
  for (const auto [key, value] : object) {
    size_t i = 0;
    while (i < count &&
           !(key.ends_with(suffix) && key.substr(0, key.size() - suffix.size()) == names[i])) {
      ++i;
    }
    if (i == count) {
      UnknownKey(key);
    } else if (!Read(value, out[i])) {
      return &kInvalidValue;
    }
  }
  return nullptr;
}

const LossKind* LineParser::Implementation::ReadProxySteps(const dom::array& array,
                                                           std::vector<ProxyStep>& steps) {
  for (const dom::element& element : array) {
    dom::object fields;
    if (element.get_object().get(fields) != simdjson::SUCCESS) return &kInvalidValue;
    ProxyOp ignored;
    ProxyStep step;
    std::vector<ProxyStep> nested;
    if (const LossKind* loss = ReadProxyTrace(fields, ignored, step, nested)) return loss;
    step.position = static_cast<uint32_t>(steps.size());
    steps.push_back(step);
  }
  return nullptr;
}

// Operations and steps share the keys of their connection; a line is one or the other by
// record_type.
const LossKind* LineParser::Implementation::ReadProxyTrace(const dom::object& object, ProxyOp& op,
                                                           ProxyStep& step,
                                                           std::vector<ProxyStep>& steps) {
  for (const auto [key, value] : object) {
    bool good = true;
    if (key == "record_type") {
      Field<std::string> type;
      good = Read(value, type);
      if (good) op.record_type = *type;
    } else if (key == "parent_type") {
      good = Read(value, op.parent_type);
    } else if (key == "direction") {
      good = Read(value, op.direction);
    } else if (key == "timing_source") {
      good = Read(value, op.timing_source);
    } else if (key == "is_final") {
      good = Read(value, op.is_final);
    } else if (key == "op_bw_gbs") {
      good = Read(value, op.op_bw_gbs);
    } else if (key == "steps") {
      dom::array array;
      if (value.get_array().get(array) != simdjson::SUCCESS) return &kInvalidValue;
      if (const LossKind* loss = ReadProxySteps(array, steps)) return loss;
    } else if (key == "event_trace_sn" || key == "event_trace_ts") {
      dom::object inner;
      if (value.get_object().get(inner) != simdjson::SUCCESS) return &kInvalidValue;
      const bool is_sn = key == "event_trace_sn";
      // Both name lists are tried: what kind of record it is may be said later in the line.
      std::vector<const char*> names(kProxyOpEvents.begin(), kProxyOpEvents.end());
      names.insert(names.end(), kProxyStepEvents.begin(), kProxyStepEvents.end());
      std::vector<Field<uint64_t>> times(names.size());
      if (const LossKind* loss =
              ReadProxyEvents(inner, is_sn ? "_sn" : "_ts", names, names.size(), times.data())) {
        return loss;
      }
      auto& of_op = is_sn ? op.sn : op.us;
      auto& of_step = is_sn ? step.sn : step.us;
      std::copy_n(times.begin(), of_op.size(), of_op.begin());
      std::copy_n(times.begin() + of_op.size(), of_step.size(), of_step.begin());
    } else {
      const auto op_key = std::find(kProxyOpKeys.begin(), kProxyOpKeys.end(), key);
      const auto step_key = std::find(kProxyStepKeys.begin(), kProxyStepKeys.end(), key);
      if (op_key == kProxyOpKeys.end() && step_key == kProxyStepKeys.end()) UnknownKey(key);
      if (op_key != kProxyOpKeys.end()) {
        const auto index = static_cast<size_t>(op_key - kProxyOpKeys.begin());
        good = Read(value, op.numbers[index]) && (MayBeNegative(index) || *op.numbers[index] >= 0);
      }
      if (step_key != kProxyStepKeys.end()) {
        good = good &&
               Read(value, step.numbers[static_cast<size_t>(step_key - kProxyStepKeys.begin())]);
      }
    }
    if (!good) return &kInvalidValue;
  }
  return nullptr;
}

LineOutcome LineParser::Implementation::AddProxy(const dom::object& object, uint32_t rank,
                                                 const Field<uint64_t>& dump_timestamp_us) {
  LineOutcome outcome;
  outcome.communicator_rank = rank;
  ProxyOp op;
  ProxyStep step;
  std::vector<ProxyStep> steps;
  outcome.loss = ReadProxyTrace(object, op, step, steps);
  if (outcome.loss != nullptr) return outcome;
  const bool is_step = op.record_type == "proxy_step";
  if (!is_step && !op.record_type.starts_with("proxy_op")) {
    outcome.loss = op.record_type.empty() ? &kMissingField : &kUnknownRecord;
    return outcome;
  }
  op.communicator_rank = rank;
  op.line = line_number;
  op.dump_timestamp_us = dump_timestamp_us;
  // A flat step is an operation row without totals, so that its connection and record number stay
  // with it, and a step row.
  if (is_step) {
    steps.push_back(step);
    op.numbers[kTransSize].reset();
    op.numbers[kTotalUs].reset();
  }
  for (ProxyStep& row : steps) {
    row.communicator_rank = rank;
    row.line = line_number;
    row.direction = op.direction;
    row.proxy_op_sn = op.numbers[kProxyOpSn];
    row.peer = op.numbers[kPeer];
    row.channel = op.numbers[kChannelId];
    builder.data().proxy_steps.push_back(row);
  }
  builder.data().proxy_ops.push_back(std::move(op));
  return outcome;
}

}  // namespace telltale::nccl_inspector
