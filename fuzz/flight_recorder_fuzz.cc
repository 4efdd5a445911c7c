// Dumps of the flight recorder from any bytes: no crash, nothing is run, and entries and losses add
// up.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "readers/flight_recorder/dump.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(input), size);
  (void)telltale::flight_recorder::LooksLikeDump(bytes);
  const auto dump = telltale::flight_recorder::ReadDump(bytes);
  if (dump && dump->records != dump->entries.size() + dump->invalid_entries) {
    std::fprintf(stderr, "broken: entries and losses add up\n");
    std::abort();
  }
  return 0;
}
