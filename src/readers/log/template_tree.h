#pragma once

// Drain's tree: groups of similar token sequences of equal length. See template_miner.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "readers/log/template_miner.h"

namespace telltale::log {

// Token sequences that are similar.
struct TemplateGroup {
  std::vector<std::string> tokens;  // with wildcards where members differ
  size_t forms = 0;
  std::optional<uint32_t> shared;  // the template of all further forms, once there were many
};

class TemplateTree {
 public:
  explicit TemplateTree(const TemplateOptions& options);

  // The most similar group, or null where none is similar enough.
  TemplateGroup* Find(const std::vector<std::string_view>& tokens);

  // Makes a group for what Find() found none for; null where its leaf is full, which bounds the
  // time of Find().
  TemplateGroup* AddGroup(const std::vector<std::string_view>& tokens);

 private:
  struct Leaf {
    std::vector<TemplateGroup> groups;
  };

  std::string PathOf(const std::vector<std::string_view>& tokens, bool add);

  TemplateOptions options_;
  std::unordered_map<std::string, unsigned> children_;  // of a node, by its path
  std::unordered_map<std::string, Leaf> leaves_;
};

}  // namespace telltale::log
