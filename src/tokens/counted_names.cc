#include "tokens/counted_names.h"

#include "base/text.h"
#include "tokens/call_trees.h"

namespace telltale::tokens {
namespace {

constexpr size_t kMostDigits = 18;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

CountedNames::CountedNames(const std::vector<std::string>& names) {
  std::unordered_map<std::string, uint32_t> stems;
  for (uint32_t name = 0; name < names.size(); ++name) {
    const std::string_view text = names[name];
    size_t end = text.size();
    while (end > 0 && !IsDigit(text[end - 1])) --end;
    size_t begin = end;
    while (begin > 0 && IsDigit(text[begin - 1])) --begin;
    const size_t digits = end - begin;
    Counted counted;
    std::string stem(text);
    if (digits > 0 && digits <= kMostDigits) {
      counted.number = NumberOf<int64_t>(text.substr(begin, digits)).value_or(0);
      // "07" is followed by "08", never by "8".
      const size_t width = digits > 1 && text[begin] == '0' ? digits : 0;
      stem = fmt::format("{}\n{}\n{}", text.substr(0, begin), width, text.substr(end));
    }
    const auto [known, added] =
        stems.try_emplace(std::move(stem), static_cast<uint32_t>(names_of_stem_.size()));
    if (added) names_of_stem_.emplace_back();
    counted.stem = known->second;
    names_of_stem_[counted.stem].try_emplace(counted.number, name);
    counted_.push_back(counted);
  }
}

uint32_t CountedNames::Further(uint32_t name, int64_t distance) const {
  const Counted& counted = counted_[name];
  const auto& names = names_of_stem_[counted.stem];
  const auto found = names.find(counted.number + distance);
  return found == names.end() ? kNone : found->second;
}

}  // namespace telltale::tokens
