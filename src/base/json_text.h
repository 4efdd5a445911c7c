#pragma once

// Writing JSON strings. Text from logs and environments is not always UTF-8, and a JSON document
// must be: what is not valid becomes U+FFFD, one for each maximal part of a broken sequence (the
// practice that the Unicode Standard recommends, section 3.9).

#include <string>
#include <string_view>

namespace telltale {

// Appends `text` as a JSON string, with its quotes. Never fails.
void AppendJsonString(std::string& out, std::string_view text);

// The same as a new string.
std::string JsonString(std::string_view text);

}  // namespace telltale
