#pragma once

// Fields of templates: what stands between commas, as in "Prefill batch, #new-seq: <*>, #token:
// <*>".

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::log {

// Calls unite(i, j) for templates that have the same fields but for some that have a value and are
// in one of them only. The first field is always there, and most others are.
void UniteFields(const std::vector<std::vector<std::string_view>>& templates,
                 const std::function<void(uint32_t, uint32_t)>& unite);

// A template for what either is for: token by token where they have as many, else with a wildcard
// for what stands in one of them only.
std::string CommonTemplate(std::string_view a, std::string_view b);

}  // namespace telltale::log
