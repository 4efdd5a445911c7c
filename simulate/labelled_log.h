#pragma once

// Log messages with the statement that printed each: the truth that template miners are measured
// by. The statements are ours, in the shapes of vLLM (V0 and V1), SGLang, torchtitan, NCCL, the
// watchdog of PyTorch, the kernel's NVRM lines and the fabric manager. A message is the text behind
// time, level and process. Seeded; the same seed and count give the same lines anywhere.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::simulate {

struct LabelledLog {
  std::vector<std::string> messages;
  std::vector<uint32_t> labels;        // of each message: which statement
  std::vector<std::string> templates;  // by statement: its text, "<*>" for what varies
};

// How often a statement occurs falls as 1 / rank^1.1 (Zipf); the seed decides which one has which
// rank.
LabelledLog MakeLabelledLog(uint64_t seed, size_t lines,
                            const std::vector<std::string_view>& statements);

// Statements as written down: `{kind}` is a value, `[ text]` or `[, text]` a field that is there in
// some lines only. The first are of the programs that Telltale reads logs of, and in sight of
// those who make rules. Those held out are of others (see labelled_log_held_out.cc).
std::vector<std::string_view> EngineStatements();
std::vector<std::string_view> HeldOutStatements();

}  // namespace telltale::simulate
