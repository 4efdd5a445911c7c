#include "readers/log/template_masks.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace telltale::log {
namespace {

std::string FormOf(std::string_view message, size_t max_tokens = 512) {
  return std::string(Masker(max_tokens).Mask(message));
}

TEST(TemplateMasks, Values) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"step:  1  loss: 12.47929\tgrad_norm: -1.5e-07", "step: <*> loss: <*> grad_norm: <*>"},
      {"memory: 160.60GiB(90.05%)  tps: 1,360", "memory: <*>GiB(<*>%) tps: <*>"},
      {"Peak FLOPS: 2.250e+15.", "Peak FLOPS: <*>."},
      {"comm 0x55d0 busId 101d0 commId 0xb07deadbeef -", "comm <*> busId <*> commId <*> -"},
      {"GPU at PCI:0000:9b:00: GPU-509665ad-b600-ac93-3616-d754b23d636d",
       "GPU at PCI:<*>: GPU-<*>"},
      {"PCI:00000008:06:00.0, then", "PCI:<*>, then"},
      {"NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=smi",
       "NVRM: Xid (PCI:<*>): <*>, "
       "pid=<*>, name=smi"},
      {"Added request chatcmpl-0123456789abcdef0123456789abcdef.", "Added request chatcmpl-<*>."},
      {"Added request cmpl-8001a336c290d04c-0-b958a13d.", "Added request cmpl-<*>."},
      {"peer 10.216.210.236<54862> or 127.0.0.1:34190 closed", "peer <*> or <*> closed"},
      {"at 2026-05-19 19:31:29,955 or 06:25:50.373", "at <*> or <*>"},
      {"from /data/run-7/x.bin, /a/b: none", "from <*>: none"},
      {"see http://host/a?b=1 (gone)", "see http:<*>=<*> (gone)"},
      {"tokens/s, NET/IB, misc/argcheck.cc:41", "tokens/s, NET/IB, misc/argcheck.cc:<*>"},
      {"cuda graph: True, lora: None, Nonesuch", "cuda graph: <*>, lora: <*>, Nonesuch"},
      {"via P2P/CUMEM on mlx5_0", "via P2P/CUMEM on mlx<*>"},
      {"prompt: 'it's \\' 3 o'clock', n=1", "prompt: '<*>', n=<*>"},
      {"can't say \"no", "can't say \"no"},
      {"args: {'a': {'b': [1, '}']}, \"c\": 2}, next", "args: <*>, next"},
      {"files ['a.bin', 'b.bin']", "files <*>"},
      {"ids: [1, 2, 3], end", "ids: [<*>], end"},
      {"Handles:6319a3ab 31097ec5 637952d4", "Handles:<*>"},
      {"1.2.3.4:80 - \"GET /health HTTP/1.1\" 404 Not Found", "<*> - \"<*>\" <*>"},
      {"", ""},
      {" \t ", ""},
  };
  for (const auto& [message, form] : cases) {
    EXPECT_EQ(FormOf(message), form) << message;
  }
}

// The value, not its look, may differ: forms are the same.
TEST(TemplateMasks, ListsOfAnyLength) {
  std::string list = "Capture cuda graph bs [1";
  const std::string form = FormOf(list + "]");
  for (int i = 2; i < 300; ++i) {
    list += ", " + std::to_string(i);
    ASSERT_EQ(FormOf(list + "]"), form) << list;
  }
}

TEST(TemplateMasks, AnyBytes) {
  using namespace std::string_literals;
  EXPECT_EQ(FormOf("a\0b \xff\xfe 3"s), "a\0b \xff\xfe <*>"s);
  EXPECT_EQ(FormOf("gr\xc3\xb6\xc3\x9f"
                   "e 3"),
            "gr\xc3\xb6\xc3\x9f"
            "e <*>");
}

TEST(TemplateMasks, CutsWhatIsLong) {
  EXPECT_EQ(FormOf("a b c d", 2), "a b <*>");
  std::string words;
  for (int i = 0; i < 100000; ++i) words += "ab ";
  EXPECT_TRUE(FormOf(words).ends_with(" ab <*>"));
  EXPECT_LE(FormOf(words, size_t{1} << 30).size(), kMaxFormBytes);
}

// A megabyte of what could be looked at again and again.
TEST(TemplateMasks, LinearInTheWorstCase) {
  for (const std::string piece :
       {"x",  "1",  "a1", "'",  " '",        " \"", " {'", "['", "a:",    "1:",   "-",
        "1-", " 1", "/",  " /", "deadbeef-", "\\'", "<1",  "=",  " a=1,", "\xff", "{\"a\":"}) {
    std::string message;
    while (message.size() < (size_t{1} << 20)) message += piece;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_LE(FormOf(message, size_t{1} << 30).size(), kMaxFormBytes);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    EXPECT_LT(elapsed.count(), 2.0) << piece;
  }
}

}  // namespace
}  // namespace telltale::log
