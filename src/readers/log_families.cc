#include "readers/log_families.h"

#include <vector>

#include "readers/engine_log/engine_clues.h"
#include "readers/engine_log/engine_prefix.h"
#include "readers/engine_log/watchdog_clues.h"
#include "readers/kernel_log/kernel_clues.h"
#include "readers/kernel_log/kernel_prefix.h"
#include "readers/nccl_log/nccl_clues.h"

namespace telltale {
namespace {

std::span<const log::Clue> AllClues() {
  static const std::vector<log::Clue> clues = [] {
    std::vector<log::Clue> all;
    for (const auto& some : {engine_log::EngineClues(), engine_log::WatchdogClues(),
                             nccl_log::NcclClues(), kernel_log::KernelClues()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return clues;
}

}  // namespace

const log::LogFamily& EngineLogFamily() {
  static const log::LogFamily family = {
      "engine_log", engine_log::EnginePeels(), {}, AllClues(), false};
  return family;
}

const log::LogFamily& NcclLogFamily() {
  static const log::LogFamily family = {
      "nccl_log", engine_log::EnginePeels(), {}, AllClues(), false};
  return family;
}

// Messages of the fabric manager have lines without a prefix; in a journal stand other programs'
// lines with their own.
const log::LogFamily& KernelLogFamily() {
  static const log::LogFamily family = {"kernel_log", kernel_log::KernelPeels(),
                                        engine_log::EnginePeels(), AllClues(), true};
  return family;
}

}  // namespace telltale
