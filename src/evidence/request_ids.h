#pragma once

// Names of requests. A client's or server's id goes through the engine with parts added:
// completions append the number of the prompt, engines a suffix of their own, several sequences are
// numbered:
//   cmpl-8001a336c290d04c-0-b958a13d    of cmpl-8001a336c290d04c
//   1_chatcmpl-77aa                     of chatcmpl-77aa
// Ids of clients may hold anything, dashes too.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace telltale::evidence {

class RequestIds {
 public:
  // The number of the request, from 0 on; the same for the same id.
  uint32_t Add(std::string_view id);
  // Requests to which the id may belong: itself, or one that it begins with. Several where that is
  // not certain, the longest id first.
  std::vector<uint32_t> Find(std::string_view id) const;
  const std::vector<std::string>& ids() const { return ids_; }

 private:
  std::vector<std::string> ids_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

// Whether `rest` is what an engine appends to an id: -0, -b958a13d, -0-b958a13d.
bool IsEngineSuffix(std::string_view rest);

}  // namespace telltale::evidence
