#pragma once

// Templates as text: tokens with one space between them, "<*>" for what varies. A wildcard may be a
// part of a token ("pid=<*>,") and may stand for a field that is not always there ("reqs,<*> GPU").

#include <string>
#include <string_view>
#include <vector>

#include "readers/log/template_masks.h"

namespace telltale::log {

// The parts of a message where its template has wildcards, in order; empty if it does not fit (and
// where a template without wildcards fits). Each wildcard takes as little as it can. Spaces, tabs
// and line ends count as one space. Linear in the length of the message.
std::vector<std::string_view> TemplateParameters(std::string_view template_text,
                                                 std::string_view message);

bool FitsTemplate(std::string_view template_text, std::string_view message);

std::vector<std::string_view> SplitTokens(std::string_view text);
std::string JoinTokens(const std::vector<std::string>& tokens);

// Of the form "name=", "name:" or "#name:" at most: its value follows.
bool IsKey(std::string_view token);
// Looks like a value rather than a word of a sentence: has a wildcard, a slash, an underscore, a
// point or capitals within ("mlx5_0", "LlamaForCausalLM"), or stands in parentheses.
bool LooksLikeValue(std::string_view token);
// Has letters and no wildcard, and does not look like a value.
bool IsWord(std::string_view token);
// Begins with a name for a value: "name=<*>".
bool HasKey(std::string_view token);
// The token with its values replaced, what stands behind each '=', or else behind the last ':';
// punctuation at the end stays: "name=<*>,".
std::string WithoutValue(std::string_view token);
// A token that stands for both: "name=python3," and "name=smi," give "name=<*>,".
std::string CommonToken(std::string_view a, std::string_view b);

}  // namespace telltale::log
