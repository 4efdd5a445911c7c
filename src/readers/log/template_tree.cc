#include "readers/log/template_tree.h"

#include <algorithm>

#include "readers/log/template_text.h"

namespace telltale::log {

namespace {

constexpr size_t kGroupsOfLeaf = 256;

bool HasWildcard(std::string_view token) { return token.find(kWildcard) != token.npos; }

// Values are no sign of being alike, nor of being different.
double Similarity(const std::vector<std::string>& group,
                  const std::vector<std::string_view>& tokens) {
  size_t equal = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (group[i] != kWildcard && group[i] == tokens[i]) ++equal;
  }
  return static_cast<double>(equal) / static_cast<double>(std::max<size_t>(1, tokens.size()));
}

}  // namespace

TemplateTree::TemplateTree(const TemplateOptions& options) : options_(options) {}

// The path of the leaf as text; what has no node yet and may not get one goes by the wildcard's.
std::string TemplateTree::PathOf(const std::vector<std::string_view>& tokens, bool add) {
  std::string path = std::to_string(tokens.size());
  const size_t depth = options_.depth > 3 ? options_.depth - 3 : 0;
  for (size_t i = 0; i < std::min(depth, tokens.size()); ++i) {
    std::string child = path + ' ';
    if (HasWildcard(tokens[i])) {
      path = child.append(kWildcard);
      continue;
    }
    child.append(tokens[i]);
    if (!children_.contains(child)) {
      unsigned& siblings = children_[path];
      if (siblings >= options_.max_children) {
        path = (path + ' ').append(kWildcard);
        continue;
      }
      if (add) {
        ++siblings;
        children_.emplace(child, 0);
      }
    }
    path = std::move(child);
  }
  return path;
}

TemplateGroup* TemplateTree::Find(const std::vector<std::string_view>& tokens) {
  const auto leaf = leaves_.find(PathOf(tokens, false));
  if (leaf == leaves_.end()) return nullptr;
  TemplateGroup* best = nullptr;
  double most = -1;
  for (TemplateGroup& group : leaf->second.groups) {
    const double similarity = Similarity(group.tokens, tokens);
    if (similarity > most) {
      most = similarity;
      best = &group;
    }
  }
  return most >= options_.similarity ? best : nullptr;
}

TemplateGroup* TemplateTree::AddGroup(const std::vector<std::string_view>& tokens) {
  Leaf& leaf = leaves_[PathOf(tokens, true)];
  if (leaf.groups.size() >= kGroupsOfLeaf) return nullptr;
  leaf.groups.push_back({{tokens.begin(), tokens.end()}, 0, std::nullopt});
  return &leaf.groups.back();
}

}  // namespace telltale::log
