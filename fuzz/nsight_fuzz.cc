// Nsight Systems exports from any bytes: no crash, and events and losses add up.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "readers/nsight/nsight_loader.h"
#include "readers/trace/call_chain.h"

namespace {

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using namespace telltale;
  static const std::string kPath = "/tmp/nsight_fuzz." + std::to_string(getpid());
  std::FILE* const out = std::fopen(kPath.c_str(), "wb");
  Check(out != nullptr && std::fwrite(input, 1, size, out) == size && std::fclose(out) == 0,
        "the input can be written");
  if (const auto file = nsight::SqliteFile::Open(kPath)) {
    if (const auto data = nsight::LoadExport(**file, 2)) {
      uint64_t lost = 0;
      for (const trace::Loss& loss : data->losses)
        lost += loss.loss_class == "line" ? loss.count : 0;
      Check(data->events.size() + lost + data->metadata_records >= data->records,
            "nothing is lost");
      (void)trace::LinkCallChain(*data, 0);
    }
  }
  return 0;
}
