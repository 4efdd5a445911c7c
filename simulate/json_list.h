#pragma once

// Collects the members of a JSON object or array: a comma goes before each but the first.

#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace telltale::simulate {

class JsonList {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_ += ',';
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace telltale::simulate
