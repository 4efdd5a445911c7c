#pragma once

// Which statement printed a message: a template for each, found by looking at messages alone. After
// Drain (He, Zhu, Zheng, Lyu: Drain, an online log parsing approach with fixed depth tree, ICWS
// 2017) as in Drain3: masks first, then a tree by number of tokens and first tokens, then the most
// similar of a leaf's templates. What is different here:
//
// - A message's form (see template_masks.h) is looked up by its hash first; the tree sees new
// forms.
// - Each form is a template of its own, until its group in the tree has kFormsOfGroup. Only then do
//   further forms share one template that has wildcards for the words in which they differ. So
//   which words are values is not decided on the first two lines, and hardly depends on their
//   order; MergeTemplates (template_merge.h) decides it, once all forms are known.
//
// Memory is bounded: beyond max_templates (or kMaxTextBytes of text) all that is new goes to one
// template "<*>", the last. The same messages in the same order give the same numbers. An object is
// for one thread at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace telltale::log {

struct TemplateOptions {
  unsigned depth = 4;            // root, number of tokens, first depth - 3 tokens, leaf; at least 3
  double similarity = 0.4;       // equal tokens of all tokens, to be in a group
  unsigned max_children = 100;   // of a node; further first tokens share a node
  size_t max_templates = 65536;  // at least 1
  size_t max_tokens = 512;       // what is longer is cut, and ends with a wildcard
};

inline constexpr size_t kFormsOfGroup = 64;
inline constexpr size_t kMaxTextBytes = size_t{8} << 20;

class TemplateMiner {
 public:
  explicit TemplateMiner(TemplateOptions options = {});
  TemplateMiner(TemplateMiner&&) noexcept;
  TemplateMiner& operator=(TemplateMiner&&) noexcept;
  ~TemplateMiner();

  // The number of the message's template, from 0 on, without gaps. Learns.
  uint32_t Add(std::string_view message);

  // The same without learning; none where Add would make or change a template. (It uses the miner's
  // buffer, so it is for one thread at a time as well.)
  std::optional<uint32_t> Match(std::string_view message) const;

  // A template kept earlier, merged or not, with its lines. One that is known gets the lines too.
  uint32_t AddTemplate(std::string_view text, uint64_t lines);

  size_t size() const;
  std::string Text(uint32_t number) const;  // "step: <*> loss: <*>"
  uint64_t lines(uint32_t number) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace telltale::log
