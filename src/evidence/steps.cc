#include "evidence/steps.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace telltale::evidence {
namespace {

// "step 12", "iteration_12", "Step: 12": the word, then a number.
bool IsNumbered(std::string_view name, std::string_view word) {
  if (name.size() <= word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(name[i])) != word[i]) return false;
  }
  std::string_view rest = name.substr(word.size());
  while (!rest.empty() && std::string_view(" _:#-=").find(rest.front()) != std::string_view::npos) {
    rest.remove_prefix(1);
  }
  return !rest.empty() && std::all_of(rest.begin(), rest.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

bool IsStepName(std::string_view name) {
  if (name.starts_with("ProfilerStep#") || name.starts_with("step[")) return true;
  if (name.starts_with("execute_") && name.find("context_") != std::string_view::npos &&
      name.find("generation_") != std::string_view::npos) {
    return true;
  }
  return IsNumbered(name, "step") || IsNumbered(name, "iteration") || IsNumbered(name, "iter");
}

std::vector<uint32_t> FindSteps(const TraceEvents& events) {
  std::vector<bool> is_step_name(events.names.size());
  for (size_t i = 0; i < events.names.size(); ++i) is_step_name[i] = IsStepName(events.names[i]);
  const auto is_step = [&](uint32_t event) {
    return !events.IsGpu(event) && events.kind[event] == EventKind::kRange &&
           is_step_name[events.name[event]];
  };
  std::vector<uint32_t> steps;
  std::vector<bool> within_step(events.size());  // of host events, which stand behind their parents
  for (uint32_t i = 0; i < events.size(); ++i) {
    if (events.IsGpu(i)) continue;
    const uint32_t parent = events.parent[i];
    within_step[i] = parent != kNone && (within_step[parent] || is_step(parent));
    if (is_step(i) && !within_step[i]) steps.push_back(i);
  }
  std::sort(steps.begin(), steps.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(events.tracks[events.track[a]].process, events.start_ns[a], a) <
           std::tuple(events.tracks[events.track[b]].process, events.start_ns[b], b);
  });
  return steps;
}

}  // namespace telltale::evidence
