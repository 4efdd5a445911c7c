#pragma once

// Finds the JSON objects of a file of OpenTelemetry records, in bounded memory: one a line, as the
// collector's file exporter writes them; one over many lines; or several in an array. An object
// that breaks off does not take the next with it: no text of JSON goes over a line's end, and a
// line that begins as the object did begins another.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace telltale::otlp {

// What stands between the brackets of an object, and whether it may be whole.
struct Document {
  std::string_view text;
  uint64_t line = 0;       // of its first byte, from 0
  std::string_view fault;  // why it cannot be read; empty where its brackets close
};

class JsonDocuments {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20;  // of one object

  using Take = std::function<Status(const Document& document)>;
  explicit JsonDocuments(Take take) : take_(std::move(take)) {}

  // Whole lines, the last of the file perhaps without its end. `is_cut`: the window is one line,
  // whose rest was not kept. Errors are those of `take`.
  Status Feed(std::string_view window, bool is_cut);
  // Whether the file ended within an object.
  Result<bool> Finish();

 private:
  Status FeedLine(std::string_view line);
  Status Begin(std::string_view line, size_t& at);
  bool BeginsAnother(std::string_view line) const;
  Status End(std::string_view rest, std::string_view fault);

  Take take_;
  std::string pending_;    // the lines of the object so far, but for the current one
  std::string first_key_;  // of the object
  uint64_t line_ = 0;
  uint64_t begin_line_ = 0;
  size_t depth_ = 0;
  bool in_text_ = false;
  bool is_escaped_ = false;
  bool is_long_ = false;
};

// Whether the first bytes of a file are those of an object, or an array of them, with one of the
// members that hold OpenTelemetry's records.
bool LooksLikeOtlp(std::string_view head);

// The object with what no reader of JSON takes made good: bytes that are not UTF-8 become \xNN, as
// StoredText writes them, and bare NaN and Infinity become texts. Empty where there is no such
// thing in it.
std::string Repaired(std::string_view text);

}  // namespace telltale::otlp
