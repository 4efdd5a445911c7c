#include "tokens/name_label.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <xxhash.h>

#include "tokens/kernel_name.h"
#include "tokens/mangled_name.h"
#include "tokens/name_numbers.h"

namespace telltale::tokens {
namespace {

using trace::EventKind;

// A cut label ends with '~' and so many letters of a digest: not digits, which would be replaced.
constexpr size_t kDigestLetters = 16;

bool IsCut(std::string_view label) {
  if (label.size() > kLongestLabel || label.size() <= kDigestLetters) return false;
  const std::string_view digest = label.substr(label.size() - kDigestLetters);
  return label[label.size() - kDigestLetters - 1] == '~' &&
         std::all_of(digest.begin(), digest.end(), [](char c) { return c >= 'a' && c <= 'p'; });
}

std::string Cut(std::string_view label) {
  size_t kept = std::min(label.size(), kLongestLabel - kDigestLetters - 1);
  // Not within a character of UTF-8.
  for (int i = 0; i < 3 && kept > 0 && kept < label.size(); ++i) {
    if ((static_cast<unsigned char>(label[kept]) & 0xc0) != 0x80) break;
    --kept;
  }
  std::string cut(label.substr(0, kept));
  cut += '~';
  const uint64_t digest = XXH3_64bits(label.data(), label.size());
  for (size_t i = 0; i < kDigestLetters; ++i) {
    cut += static_cast<char>('a' + ((digest >> (4 * i)) & 15));
  }
  return cut;
}

std::string KernelLabel(std::string_view name) {
  std::string label;
  // AMD's name of what describes a kernel.
  if (name.size() > 3 && name.ends_with(".kd")) name.remove_suffix(3);
  const std::string demangled = PathOfMangledName(name);
  std::string path = demangled.empty() ? FunctionPath(name) : demangled;
  if (path.empty()) path = name;
  // AMD's Tensile: the contraction, its types and what else it does, then 60 parameters of tiling.
  if (path.starts_with("Cijk_")) {
    const size_t tile = path.find("_MT");
    if (tile != std::string::npos && tile + 3 < path.size() && path[tile + 3] >= '0' &&
        path[tile + 3] <= '9') {
      path.resize(tile + 4);
    }
  }
  AppendNumbersReplaced(path, Numbers::kSizes, label);
  return label;
}

// "vllm/v1/worker/utils.py(69): get_metadata_builder"
std::string PythonLabel(std::string_view name) {
  std::string label;
  const size_t file = name.find(".py(");
  if (file != std::string_view::npos) {
    AppendNumbersReplaced(name.substr(0, file), Numbers::kPathOfFile, label);
    name.remove_prefix(file);
  }
  AppendNumbersReplaced(name, Numbers::kOwnWords, label);
  return label;
}

std::string LabelOnce(EventKind kind, std::string_view name) {
  if (kind == EventKind::kKernel) return KernelLabel(name);
  if (kind == EventKind::kPython) return PythonLabel(name);
  Numbers numbers = Numbers::kCounts;
  if (trace::IsApiCall(kind)) numbers = Numbers::kAddresses;
  if (kind == EventKind::kOperator) numbers = Numbers::kOwnWords;
  std::string label;
  AppendNumbersReplaced(name, numbers, label);
  return label;
}

}  // namespace

std::string LabelOfName(EventKind kind, std::string_view name) {
  if (IsCut(name)) return std::string(name);
  std::string label = LabelOnce(kind, name);
  // What is left may look like something else than before: "xyz12345ab12cdef34" once its first
  // number is gone. Real names take one more look.
  constexpr int kMostLooks = 6;
  for (int look = 0; look < kMostLooks; ++look) {
    if (IsCut(label)) return label;
    std::string next = LabelOnce(kind, label);
    if (next == label) return label.size() > kLongestLabel ? Cut(label) : label;
    label = std::move(next);
  }
  return Cut(label);
}

}  // namespace telltale::tokens
