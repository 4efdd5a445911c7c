#include "store/query.h"

#include <algorithm>

#include "store/embedded_queries.h"

namespace telltale {
namespace {

// "  $1 name: text"
std::optional<QueryParameter> ParameterOf(std::string_view line) {
  if (!line.starts_with("  $")) return std::nullopt;
  const size_t begin = line.find(' ', 2);
  const size_t end = line.find(':');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return std::nullopt;
  }
  return QueryParameter{std::string(line.substr(begin + 1, end - begin - 1)),
                        line.find("(required)") != std::string_view::npos};
}

}  // namespace

Result<std::string> QueryText(std::string_view name) {
  for (const EmbeddedQuery& query : EmbeddedQueries()) {
    if (query.name == name) return std::string(query.text);
  }
  return Fail("there is no query {}", name);
}

std::vector<QueryHead> QueryHeads(std::string_view prefix) {
  std::vector<QueryHead> heads;
  for (const EmbeddedQuery& query : EmbeddedQueries()) {
    if (!query.name.starts_with(prefix)) continue;
    QueryHead head;
    head.name = query.name;
    std::string_view rest = query.text;
    while (rest.starts_with("--")) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(2, end - 2);
      if (line.starts_with(' ')) line.remove_prefix(1);
      constexpr std::string_view kQuestion = "Question: ";
      if (line.starts_with(kQuestion)) head.question = line.substr(kQuestion.size());
      if (auto parameter = ParameterOf(line)) head.parameters.push_back(*std::move(parameter));
      head.text += std::string(line) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    heads.push_back(std::move(head));
  }
  std::sort(heads.begin(), heads.end(),
            [](const QueryHead& a, const QueryHead& b) { return a.name < b.name; });
  return heads;
}

}  // namespace telltale
