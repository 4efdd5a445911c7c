#pragma once

// How well lines were grouped, against the truth, as LogHub 2.0 measures it (Jiang et al., ISSTA
// 2024), for tests and benchmarks.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace telltale::log {

struct TemplateMeasures {
  double grouping_accuracy = 0;  // lines whose group is the true one, neither more nor fewer lines
  double group_f1 = 0;           // of groups: harmonic mean of precision and recall
  double parsing_accuracy = 0;   // lines whose template has the true text
  size_t groups = 0;             // found
  size_t true_groups = 0;
};

// Values side by side count as one, as they do for LogHub.
inline std::string WithoutRepeatedWildcards(std::string_view text) {
  constexpr std::string_view kMark = "<*>";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (!text.substr(at).starts_with(kMark)) {
      out += text[at++];
      continue;
    }
    size_t before = out.size();
    while (before > 0 && std::string_view(" ,.:-_/+").find(out[before - 1]) != kMark.npos) --before;
    if (std::string_view(out).substr(0, before).ends_with(kMark))
      out.resize(before);
    else
      out += kMark;
    at += kMark.size();
  }
  return out;
}

// By line: the group found and the true one; by group: its text.
inline TemplateMeasures MeasureTemplates(std::span<const uint32_t> found,
                                         std::span<const std::string> found_texts,
                                         std::span<const uint32_t> truth,
                                         std::span<const std::string> true_texts) {
  std::unordered_map<uint32_t, size_t> found_lines, true_lines;
  std::unordered_map<uint64_t, size_t> common;  // by pair
  for (size_t i = 0; i < found.size(); ++i) {
    ++found_lines[found[i]];
    ++true_lines[truth[i]];
    ++common[uint64_t{found[i]} << 32 | truth[i]];
  }
  TemplateMeasures measures;
  measures.groups = found_lines.size();
  measures.true_groups = true_lines.size();
  size_t right_lines = 0, right_groups = 0, right_texts = 0;
  for (const auto& [pair, lines] : common) {
    const uint32_t group = static_cast<uint32_t>(pair >> 32);
    const uint32_t label = static_cast<uint32_t>(pair);
    if (WithoutRepeatedWildcards(found_texts[group]) ==
        WithoutRepeatedWildcards(true_texts[label])) {
      right_texts += lines;
    }
    if (found_lines[group] != lines || true_lines[label] != lines) continue;
    right_lines += lines;
    ++right_groups;
  }
  const double all = static_cast<double>(found.size());
  measures.grouping_accuracy = static_cast<double>(right_lines) / all;
  measures.parsing_accuracy = static_cast<double>(right_texts) / all;
  measures.group_f1 = 2.0 * static_cast<double>(right_groups) /
                      static_cast<double>(measures.groups + measures.true_groups);
  return measures;
}

// How alike two groupings of the same lines are: of pairs of lines that either puts together, the
// part that both do (F1).
inline double PairAgreement(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  std::unordered_map<uint32_t, size_t> lines_a, lines_b;
  std::unordered_map<uint64_t, size_t> common;
  for (size_t i = 0; i < a.size(); ++i) {
    ++lines_a[a[i]];
    ++lines_b[b[i]];
    ++common[uint64_t{a[i]} << 32 | b[i]];
  }
  const auto pairs = [](const auto& counts) {
    double sum = 0;
    for (const auto& [key, n] : counts) {
      sum += static_cast<double>(n) * static_cast<double>(n - 1) / 2;
    }
    return sum;
  };
  const double either = pairs(lines_a) + pairs(lines_b);
  return either == 0 ? 1 : 2 * pairs(common) / either;
}

}  // namespace telltale::log
