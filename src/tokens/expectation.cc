#include "tokens/expectation.h"

namespace telltale::tokens {
namespace {

std::unordered_map<std::string_view, uint32_t> NumbersOf(const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, uint32_t> numbers;
  for (uint32_t i = 0; i < names.size(); ++i) numbers.try_emplace(names[i], i);
  return numbers;
}

uint32_t NumberOf(const std::unordered_map<std::string_view, uint32_t>& numbers,
                  std::string_view name) {
  const auto found = name.empty() ? numbers.end() : numbers.find(name);
  return found == numbers.end() ? kNone : found->second;
}

}  // namespace

NameExpectation::NameExpectation(const Grammar& grammar, const std::vector<Slot>& slots,
                                 size_t tokens, const std::vector<uint32_t>& first_names,
                                 const std::vector<std::string>& names)
    : counted_(names), first_names_(first_names) {
  const auto numbers = NumbersOf(names);
  for (const Slot& slot : slots) usual_.push_back(NumberOf(numbers, slot.name));
  size_t places = first_names.size();
  for (uint32_t token = 0; token < tokens; ++token) {
    first_.push_back(static_cast<uint32_t>(places));
    const size_t events = grammar.ExpansionOf(token).size();
    if (events > 1) places += events;
  }
  states_.resize(places);
}

}  // namespace telltale::tokens
