#include "readers/otlp/json_documents.h"

#include <algorithm>
#include <array>

#include <simdjson.h>

#include "readers/otlp/otlp_values.h"
#include "store/database.h"

namespace telltale::otlp {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kSpace = " \t\r\n";

std::string_view WithoutSpace(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text;
}

// The first key of an object, as it stands between its quotes.
std::string_view FirstKey(std::string_view object) {
  constexpr size_t kLongestKey = 64;
  object = WithoutSpace(object);
  if (!object.starts_with('{')) return {};
  object = WithoutSpace(object.substr(1));
  if (!object.starts_with('"')) return {};
  const std::string_view key = object.substr(1, kLongestKey);
  const size_t end = key.find('"');
  return end == std::string_view::npos ? std::string_view() : key.substr(0, end);
}

bool HoldsResources(std::string_view key) {
  const FoldedKey folded(key);
  return folded == "resourcespans" || folded == "resourcelogs" || folded == "resourcemetrics";
}

// Of an object that is one resource's share, as some SDKs write it.
bool HoldsScopes(std::string_view key) {
  const FoldedKey folded(key);
  return folded == "scopespans" || folded == "scopelogs" || folded == "scopemetrics" ||
         folded == "instrumentationlibraryspans";
}

// What a byte within an object can change: text, depth.
constexpr std::array<bool, 256> Marks(std::string_view marks) {
  std::array<bool, 256> is_mark{};
  for (const char mark : marks) is_mark[static_cast<unsigned char>(mark)] = true;
  return is_mark;
}
constexpr auto kTextMarks = Marks("\"\\");
constexpr auto kStructureMarks = Marks("\"{}[]");

size_t FindMark(std::string_view text, size_t at, const std::array<bool, 256>& is_mark) {
  while (at < text.size() && !is_mark[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

}  // namespace

Status JsonDocuments::Feed(std::string_view window, bool is_cut) {
  while (!window.empty()) {
    const size_t length = std::min(window.find('\n'), window.size() - 1) + 1;
    TELLTALE_TRY(FeedLine(window.substr(0, length)));
    window.remove_prefix(length);
    ++line_;
  }
  if (!is_cut) return {};
  // Whatever is open goes on in what was not kept.
  if (depth_ == 0) begin_line_ = line_ - 1;
  return End({}, "longer than is read");
}

Result<bool> JsonDocuments::Finish() {
  if (depth_ == 0) return false;
  TELLTALE_TRY(End({}, "the file ends within it"));
  return true;
}

bool JsonDocuments::BeginsAnother(std::string_view line) const {
  if (depth_ == 0 || !line.starts_with('{')) return false;
  const std::string_view key = FirstKey(line);
  return HoldsResources(key) || (!key.empty() && key == first_key_);
}

Status JsonDocuments::FeedLine(std::string_view line) {
  if (BeginsAnother(line)) TELLTALE_TRY(End({}, "not closed before the next begins"));
  size_t at = 0;
  size_t begin = 0;  // of the object's part of this line
  while (true) {
    if (depth_ == 0) {
      TELLTALE_TRY(Begin(line, at));
      if (at == line.size()) return {};
      begin = at++;
      continue;
    }
    if (is_escaped_ && at < line.size()) {
      is_escaped_ = false;
      ++at;
      continue;
    }
    at = FindMark(line, at, in_text_ ? kTextMarks : kStructureMarks);
    if (at == line.size()) break;
    const char mark = line[at++];
    if (mark == '"') {
      in_text_ = !in_text_;
    } else if (mark == '\\') {
      is_escaped_ = true;
    } else if (mark == '{' || mark == '[') {
      ++depth_;
    } else if (--depth_ == 0) {
      TELLTALE_TRY(End(line.substr(begin, at - begin), {}));
    }
  }
  const std::string_view part = line.substr(begin);
  if (in_text_ && line.ends_with('\n')) return End(part, "a text in it is not closed");
  is_long_ = is_long_ || pending_.size() + part.size() > kMostBytes;
  if (is_long_) {
    pending_ = std::string();
  } else {
    pending_ += part;
  }
  return {};
}

// Goes to the next '{', past what may stand between objects.
Status JsonDocuments::Begin(std::string_view line, size_t& at) {
  if (line_ == 0 && at == 0 && line.starts_with(kByteOrderMark)) at = kByteOrderMark.size();
  constexpr std::string_view kBetween = " \t\r\n,[]\x1e";
  at = std::min(line.find_first_not_of(kBetween, at), line.size());
  if (at == line.size()) return {};
  begin_line_ = line_;
  if (line[at] != '{') {
    const std::string_view rest = line.substr(at);
    at = line.size();
    return End(rest, "no JSON object");
  }
  depth_ = 1;
  first_key_ = FirstKey(line.substr(at));
  return {};
}

// `rest`: what the current line has of it.
Status JsonDocuments::End(std::string_view rest, std::string_view fault) {
  Document document;
  document.line = begin_line_;
  document.fault = fault;
  if (is_long_ || pending_.size() + rest.size() > kMostBytes) {
    document.fault = "longer than is read";
  } else if (pending_.empty()) {
    document.text = rest;
  } else {
    pending_ += rest;
    document.text = pending_;
  }
  const Status status = take_(document);
  pending_.clear();
  depth_ = 0;
  in_text_ = false;
  is_escaped_ = false;
  is_long_ = false;
  return status;
}

bool LooksLikeOtlp(std::string_view head) {
  // An object that begins with its resource has that in front.
  constexpr size_t kNear = size_t{16} << 10;
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  head = WithoutSpace(head.substr(0, kNear));
  if (head.starts_with('[')) head = WithoutSpace(head.substr(1));
  if (!head.starts_with('{')) return false;
  size_t depth = 0;
  for (size_t at = 0; at < head.size(); ++at) {
    at = FindMark(head, at, kStructureMarks);
    if (at == head.size()) return false;
    if (head[at] == '{' || head[at] == '[') {
      ++depth;
    } else if (head[at] != '"') {
      if (--depth == 0) return false;
    } else {
      const size_t begin = at + 1;
      for (++at; (at = FindMark(head, at, kTextMarks)) < head.size() && head[at] == '\\';) at += 2;
      if (at >= head.size()) return false;
      const std::string_view text = head.substr(begin, at - begin);
      const bool is_key = depth == 1 && WithoutSpace(head.substr(at + 1)).starts_with(':');
      if (is_key && (HoldsResources(text) || HoldsScopes(text))) return true;
    }
  }
  return false;
}

std::string Repaired(std::string_view text) {
  std::string out;
  bool is_changed = false;
  bool in_text = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (static_cast<unsigned char>(text[at]) >= 0x80) {
      while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80) ++at;
      const std::string_view run = text.substr(begin, at - begin);
      const std::string stored = StoredText(run);
      is_changed = is_changed || stored != run;
      // The run itself has no backslash: each is one of StoredText's.
      for (const char character : stored) out.append(character == '\\' ? 2 : 1, character);
      continue;
    }
    if (in_text) {
      at += text[at] == '\\' && at + 1 < text.size() &&
                    static_cast<unsigned char>(text[at + 1]) < 0x80
                ? 2
                : 1;
      if (text[begin] == '"') in_text = false;
      out += text.substr(begin, at - begin);
      continue;
    }
    bool is_word = false;
    const bool may_be_word = text[at] == 'N' || text[at] == 'I' || text[at] == '-';
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (!may_be_word) break;
      if (!text.substr(at).starts_with(word)) continue;
      ((out += '"') += word) += '"';
      at += word.size();
      is_word = is_changed = true;
      break;
    }
    if (is_word) continue;
    in_text = text[at] == '"';
    out += text[at++];
  }
  return is_changed ? out : std::string();
}

}  // namespace telltale::otlp
