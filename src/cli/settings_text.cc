#include "cli/settings_text.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace telltale::cli {
namespace {

using collectives::SettingValues;

// Takes "NAME=VALUE" if NAME is one that doctor looks at.
void TakeAssignment(std::string_view assignment, SettingValues& values) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view name = assignment.substr(0, equals);
  if (!collectives::IsLibraryVariable(name)) return;
  values.insert_or_assign(std::string(name), std::string(assignment.substr(equals + 1)));
}

void TakeList(std::string_view list, SettingValues& values) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    TakeAssignment(list.substr(0, comma), values);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

void TakeWord(std::string_view word, SettingValues& values) {
  if (word.starts_with("--export=")) {
    TakeList(word.substr(word.find('=') + 1), values);
  } else if (word.starts_with("--env=") || word.starts_with("-x=")) {
    TakeAssignment(word.substr(word.find('=') + 1), values);
  } else {
    TakeAssignment(word, values);
  }
}

bool EndsWord(char character) {
  return character == ' ' || character == '\t' || character == '\r' || character == ';';
}

// Cuts one line into words as a shell does: quotes, backslashes, and # for a comment.
std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool has_word = false;
  char quote = '\0';
  for (size_t i = 0; i < line.size(); ++i) {
    const char character = line[i];
    const bool escapes = character == '\\' && quote != '\'' && i + 1 < line.size();
    if (escapes) {
      word += line[++i];
      has_word = true;
    } else if (quote != '\0') {
      if (character == quote) {
        quote = '\0';
      } else {
        word += character;
      }
    } else if (character == '"' || character == '\'') {
      quote = character;
      has_word = true;
    } else if (EndsWord(character)) {
      if (has_word) words.push_back(std::move(word));
      word.clear();
      has_word = false;
    } else if (character == '#' && !has_word) {
      return words;
    } else {
      word += character;
      has_word = true;
    }
  }
  if (has_word) words.push_back(std::move(word));
  return words;
}

}  // namespace

SettingsText ReadSettingsText(std::string_view text) {
  SettingsText result;
  result.is_environment = text.find('\0') != std::string_view::npos;
  const char end_mark = result.is_environment ? '\0' : '\n';
  while (!text.empty()) {
    const size_t end = std::min(text.find(end_mark), text.size());
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (result.is_environment) {
      TakeAssignment(entry, result.values);
      continue;
    }
    for (const std::string& word : Words(entry)) TakeWord(word, result.values);
  }
  return result;
}

SettingValues SettingsOfThisProcess() {
  SettingValues values;
  for (char** entry = environ; entry && *entry; ++entry) TakeAssignment(*entry, values);
  return values;
}

}  // namespace telltale::cli
