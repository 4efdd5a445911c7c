#include "simulate/labelled_log.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "simulate/random.h"

namespace telltale::simulate {

namespace {

class Values {
 public:
  explicit Values(uint64_t seed) : seed_(seed) {}

  uint64_t Bits() { return RandomBits(seed_, drawn_++); }
  uint64_t Below(uint64_t bound) { return BelowFromBits(Bits(), bound); }
  // As many with one digit as with five.
  uint64_t Spread() { return Below(uint64_t{1} << (1 + Below(17))); }
  double Real(double bound) { return bound * static_cast<double>(Below(1000000)) / 1000000; }
  std::string_view Pick(const std::vector<std::string_view>& words) {
    return words[Below(words.size())];
  }
  std::string Hex(size_t digits) {
    std::string text;
    while (text.size() < digits) text += fmt::format("{:016x}", Bits());
    return text.substr(0, digits);
  }

 private:
  uint64_t seed_ = 0;
  uint64_t drawn_ = 0;
};

std::string Joined(Values& values, uint64_t most, std::string_view separator,
                   std::string (*make)(Values&)) {
  std::string text = make(values);
  for (uint64_t i = values.Below(most); i > 0; --i) text.append(separator).append(make(values));
  return text;
}

std::string Number(Values& values) { return std::to_string(values.Spread()); }

std::string Comma(Values& values) {
  std::string digits = std::to_string(values.Below(uint64_t{1} << (1 + values.Below(34))));
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string Request(Values& values) {
  switch (values.Below(4)) {
    case 0:
      return "cmpl-" + values.Hex(32) + "-" + std::to_string(values.Below(3));
    case 1:
      return "cmpl-" + values.Hex(16) + "-0-" + values.Hex(8);
    default:
      return "chatcmpl-" + values.Hex(32);
  }
}

std::string Prompt(Values& values) {
  static const std::vector<std::string_view> kWords = {
      "write", "a",     "poem",     "about",   "the",        "sea", "42",  "now!",
      "and",   "don't", "(really)", "please,", "summarise:", "x=3", "why?"};
  std::string text = "'";
  for (uint64_t i = 0; i <= values.Below(30); ++i) text.append(values.Pick(kWords)).append(" ");
  return text + "end'";
}

std::string Dictionary(Values& values) {
  static const std::vector<std::string_view> kFields = {"'port': 8000", "'dtype': 'bfloat16'",
                                                        "'enforce_eager': True", "'seed': 7",
                                                        "'load_format': 'dummy'"};
  std::string text = "{'model': 'acme/tiny-1b'";
  for (const std::string_view field : kFields) {
    if (values.Below(2) == 0) text.append(", ").append(field);
  }
  return text + "}";
}

std::string Path(Values& values) {
  static const std::vector<std::string_view> kFolders = {
      "data", "checkpoints", "run-7", "step_400", "models", "v2", "user"};
  std::string text;
  for (uint64_t i = 0; i <= 1 + values.Below(4); ++i)
    text.append("/").append(values.Pick(kFolders));
  return text + "/x.bin";
}

std::string Pci(Values& values) {
  return fmt::format("{:04x}:{:02x}:00", values.Below(3), values.Below(256));
}

std::string Size(Values& values) {
  return values.Below(3) == 0 ? fmt::format("{:.2f} MiB", values.Real(1000))
                              : fmt::format("{:.2f} GiB", values.Real(180));
}

std::string Tree(Values& values) {
  return fmt::format("[{}] {}/-1/-1->{}->{}", values.Below(32), values.Below(8), values.Below(8),
                     values.Below(8));
}

std::string Handle(Values& values) { return values.Hex(15 + values.Below(2)); }

std::string Peer(Values& values) {
  return fmt::format("10.{}.{}.{}<{}>", values.Below(256), values.Below(256), values.Below(256),
                     1024 + values.Below(60000));
}

using Maker = std::string (*)(Values&);
using Words = std::vector<std::string_view>;

const std::map<std::string_view, Maker>& Makers() {
  static const std::map<std::string_view, Maker> kMakers = {
      {"int", Number},
      {"small", [](Values& v) { return std::to_string(v.Below(16)); }},
      {"two", [](Values& v) { return fmt::format("{:02}", v.Below(32)); }},
      {"three", [](Values& v) { return fmt::format("{:03}", v.Below(8)); }},
      {"eight", [](Values& v) { return fmt::format("{:08x}", v.Below(64)); }},
      {"signed", [](Values& v) { return fmt::format("{}", static_cast<int>(v.Below(40)) - 15); }},
      {"float", [](Values& v) { return fmt::format("{:.2f}", v.Real(v.Below(2) ? 10 : 3000)); }},
      {"percent", [](Values& v) { return fmt::format("{:.1f}", v.Real(100)); }},
      {"exponent", [](Values& v) { return fmt::format("{:.3e}", 1e12 * (1 + v.Real(2000))); }},
      {"comma", Comma},
      {"version", [](Values& v) { return fmt::format("2.{}.{}", v.Below(30), v.Below(9)); }},
      {"status",
       [](Values& v) {
         return std::string(
             v.Pick(Words{"200 OK", "200 OK", "404 Not Found", "500 Internal Server Error"}));
       }},
      {"request", Request},
      {"prompt", Prompt},
      {"dict", Dictionary},
      {"path", Path},
      {"pci", Pci},
      {"size", Size},
      {"peer", Peer},
      {"list", [](Values& v) { return Joined(v, 40, ", ", Number); }},
      {"trees", [](Values& v) { return Joined(v, 16, " ", Tree); }},
      {"handles", [](Values& v) { return Joined(v, 8, " ", Handle); }},
      {"hex", [](Values& v) { return fmt::format("0x{:x}", v.Bits() >> v.Below(40)); }},
      {"shorthex", [](Values& v) { return fmt::format("{:x}", v.Below(1 << 16)); }},
      {"hex32", [](Values& v) { return v.Hex(32); }},
      {"date",
       [](Values& v) {
         return fmt::format("2026-{:02}-{:02}T{:02}:{:02}:{:02}", 1 + v.Below(12), 1 + v.Below(28),
                            v.Below(24), v.Below(60), v.Below(60));
       }},
      {"hex16", [](Values& v) { return v.Hex(16); }},
      {"bus", [](Values& v) { return fmt::format("{:x}", v.Below(1 << 20)); }},
      {"gid",
       [](Values& v) { return fmt::format("fe80::{}:{}:{}", v.Hex(4), v.Hex(4), v.Hex(4)); }},
      {"uuid",
       [](Values& v) {
         return v.Hex(8) + "-" + v.Hex(4) + "-" + v.Hex(4) + "-" + v.Hex(4) + "-" + v.Hex(12);
       }},
      {"ipport",
       [](Values& v) {
         return fmt::format("10.0.{}.{}:{}", v.Below(256), v.Below(256), v.Below(65536));
       }},
      {"bytes",
       [](Values& v) { return fmt::format("{:.2f}{}", v.Real(180), v.Below(2) ? "GiB" : "MiB"); }},
      {"bool", [](Values& v) { return std::string(v.Below(2) ? "True" : "False"); }},
      {"optional", [](Values& v) { return v.Below(2) ? std::string("None") : Number(v); }},
      {"pid", [](Values& v) { return v.Below(4) ? Number(v) : std::string("'<unknown>'"); }},
      {"host",
       [](Values& v) {
         return fmt::format("{}{:03}", v.Pick(Words{"gpu", "node-a", "worker"}), v.Below(200));
       }},
  };
  return kMakers;
}

// Values that are one of some words.
const std::map<std::string_view, Words>& Choices() {
  static const std::map<std::string_view, Words> kChoices = {
      {"model",
       {"gpt2", "acme/tiny-1b", "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-32B", "mistral",
        "deepseek-ai/DeepSeek-V3", "/models/phi"}},
      {"backend", {"flashinfer", "FLASH_ATTN", "triton", "XFORMERS", "fa3"}},
      {"route", {"POST /v1/completions", "GET /health", "GET /metrics", "POST /generate"}},
      {"engine", {"V0", "V1"}},
      {"dtype", {"torch.bfloat16", "torch.float16", "auto", "fp8"}},
      {"class", {"LlamaForCausalLM", "ValueError", "Qwen3MoeModel", "RuntimeError"}},
      {"function", {"execute_model", "step", "run_busy_loop", "profile"}},
      {"mode", {"RECOMPUTE", "SWAP"}},
      {"worker", {"VllmWorkerProcess", "alice", "bob", "RayWorkerVllm", "carol"}},
      {"role", {"prefill", "decode", "encode", "mixed"}},
      {"nic", {"mlx5_0", "mlx5_1", "mlx5_10", "bond0", "rocep1s0"}},
      {"dataset", {"c4", "c4_test", "wikitext", "alpaca"}},
      {"checkpointing", {"full", "selective", "op", "layer"}},
      {"init", {"ncclCommInitRank", "ncclCommInitRankConfig", "ncclCommSplit"}},
      {"op", {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Send", "Recv"}},
      {"direction", {"Recv", "Send"}},
      {"words",
       {"Multiple Warp Errors", "local QP catastrophic error", "Out Of Range Address",
        "port error"}},
      {"call", {"bind", "connect", "ibv_poll_cq", "recv", "posix_fallocate"}},
      {"errno",
       {"Address already in use", "Connection refused", "No space left on device", "Broken pipe"}},
      {"variable", {"IB_TIMEOUT", "MIN_NCHANNELS", "BUFFSIZE", "P2P_LEVEL"}},
      {"optype", {"_ALLGATHER_BASE", "ALLREDUCE", "_REDUCE_SCATTER_BASE", "SEND"}},
      {"group", {"default_pg", "mesh_tp", "mesh_dp_shard"}},
      {"signal", {"SIGTERM", "SIGKILL", "SIGINT"}},
      {"process", {"python3", "nvidia-smi", "<unknown>", "pt_main_thread"}},
      {"gsp", {"GSP_RM_ALLOC", "GSP_RM_CONTROL", "FREE"}},
      {"reason", {"TIME LIMIT", "NODE FAILURE", "PREEMPTION"}},
      {"probe",
       {"HTTP probe failed with statuscode: 503", "connection refused",
        "context deadline exceeded"}},
      {"image", {"nvcr.io/nvidia/pytorch:25.01-py3", "vllm/vllm-openai:v0.11.0", "busybox"}},
      {"program", {"trtllm-build", "convert"}},
      {"status_word", {"ok", "cancelled", "timeout"}},
      {"cable", {"plugged", "unplugged", "error"}},
      {"interface", {"eth0", "ens5f1np1", "ib0", "bond0"}},
      {"layer", {"Physical Layer", "Data Link Layer"}},
      {"constraint", {"CONSTRAINT_MEMCG", "CONSTRAINT_NONE"}},
      {"fault", {"FAULT_PDE", "FAULT_PTE", "FAULT_RO_VIOLATION"}},
  };
  return kChoices;
}

// A piece of a statement: text as it stands, or a value; a piece of a field that is not always
// there knows which of them.
struct Piece {
  std::string_view text;
  Maker maker = nullptr;
  const Words* words = nullptr;
  unsigned field = 0;  // 0: always there
};

struct Statement {
  std::vector<Piece> pieces;
  std::string text;
};

bool IsField(std::string_view text) { return text.starts_with("[ ") || text.starts_with("[, "); }

Statement Parse(std::string_view source) {
  Statement statement;
  unsigned fields = 0, field = 0;
  for (size_t at = 0; at < source.size();) {
    if (field == 0 && IsField(source.substr(at))) {
      field = ++fields;
      statement.text += "<*>";
      ++at;
      continue;
    }
    if (field != 0 && source[at] == ']') {
      field = 0;
      ++at;
      continue;
    }
    Piece piece;
    piece.field = field;
    if (source[at] == '{') {
      const size_t end = source.find('}', at);
      const std::string_view kind = source.substr(at + 1, end - at - 1);
      const auto maker = Makers().find(kind);
      if (maker != Makers().end())
        piece.maker = maker->second;
      else
        piece.words = &Choices().at(kind);
      if (field == 0) statement.text += "<*>";
      at = end + 1;
    } else {
      piece.text = source.substr(at, 1);
      if (field == 0) statement.text += piece.text;
      ++at;
    }
    // Bytes of text that follow each other are one piece.
    Piece* last = statement.pieces.empty() ? nullptr : &statement.pieces.back();
    if (last != nullptr && !piece.text.empty() && !last->text.empty() && last->field == field) {
      last->text = {last->text.data(), last->text.size() + 1};
    } else {
      statement.pieces.push_back(piece);
    }
  }
  return statement;
}

std::string Write(const Statement& statement, Values& values) {
  const uint64_t present = values.Bits();
  std::string message;
  for (const Piece& piece : statement.pieces) {
    if (piece.field != 0 && (present >> piece.field & 1) == 0) continue;
    if (piece.maker != nullptr)
      message += piece.maker(values);
    else
      message += piece.words != nullptr ? values.Pick(*piece.words) : piece.text;
  }
  return message;
}

}  // namespace

LabelledLog MakeLabelledLog(uint64_t seed, size_t lines,
                            const std::vector<std::string_view>& sources) {
  Values values(seed);
  std::vector<Statement> statements;
  LabelledLog log;
  for (const std::string_view source : sources) {
    statements.push_back(Parse(source));
    log.templates.push_back(statements.back().text);
  }
  std::vector<uint32_t> by_rank(statements.size());
  std::iota(by_rank.begin(), by_rank.end(), 0);
  for (size_t i = by_rank.size(); i > 1; --i) std::swap(by_rank[i - 1], by_rank[values.Below(i)]);
  std::vector<double> up_to;  // sum of weights up to each rank
  double sum = 0;
  for (size_t rank = 1; rank <= statements.size(); ++rank) {
    up_to.push_back(sum += std::pow(static_cast<double>(rank), -1.1));
  }
  log.messages.reserve(lines);
  log.labels.reserve(lines);
  for (size_t line = 0; line < lines; ++line) {
    const auto rank = std::upper_bound(up_to.begin(), up_to.end() - 1, values.Real(sum));
    const uint32_t label = by_rank[static_cast<size_t>(rank - up_to.begin())];
    log.messages.push_back(Write(statements[label], values));
    log.labels.push_back(label);
  }
  return log;
}

}  // namespace telltale::simulate
