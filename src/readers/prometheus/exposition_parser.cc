#include "readers/prometheus/exposition_parser.h"

#include <algorithm>
#include <array>

namespace telltale::prometheus {
namespace {

constexpr size_t kMostHelpBytes = 1024;
// A server has some thousand series of some hundred bytes.
constexpr size_t kMostHeldBytes = size_t{256} << 20;
constexpr size_t kBytesBeside = 128;  // what a map takes for an entry

// What a family's samples may have behind its name.
constexpr std::array<std::string_view, 8> kSuffixes = {"_bucket",  "_sum",  "_count",  "_total",
                                                       "_created", "_info", "_gcount", "_gsum"};

std::string_view WithoutSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(kSpace) + 1, text.size()));
  return text;
}

std::string_view TakeWord(std::string_view& text) {
  const size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text = WithoutSpace(text.substr(end));
  return word;
}

struct Comment {
  std::string_view keyword, name, text;
};

// `# HELP name text` and the like. Without a keyword where it is a comment for people.
Comment ReadComment(std::string_view line) {
  Comment comment;
  std::string_view rest = WithoutSpace(line).substr(1);
  // The format wants a space, but #HELP was never anything else either.
  rest = WithoutSpace(rest);
  const std::string_view keyword = TakeWord(rest);
  if (keyword == "EOF" && rest.empty()) comment.keyword = keyword;
  if (keyword != "HELP" && keyword != "TYPE" && keyword != "UNIT") return comment;
  comment.name = TakeWord(rest);
  if (comment.name.size() > 1 && comment.name.starts_with('"') && comment.name.ends_with('"')) {
    comment.name = comment.name.substr(1, comment.name.size() - 2);
  }
  if (comment.name.empty()) return comment;
  comment.keyword = keyword;
  comment.text = rest;
  return comment;
}

bool IsType(std::string_view word) {
  constexpr std::array<std::string_view, 10> kTypes = {
      "counter", "gauge",   "histogram", "gaugehistogram", "summary",
      "untyped", "unknown", "info",      "stateset",       "gauge_histogram"};
  return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end();
}

std::string HelpText(std::string_view text) {
  std::string help;
  for (size_t i = 0; i < text.size() && help.size() < kMostHelpBytes; ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size();
    if (is_escape && (text[i + 1] == 'n' || text[i + 1] == '\\' || text[i + 1] == '"')) {
      ++i;
      help += text[i] == 'n' ? '\n' : text[i];
    } else {
      help += text[i];
    }
  }
  if (help.size() < kMostHelpBytes) return help;
  while (!help.empty() && (static_cast<unsigned char>(help.back()) & 0xc0) == 0x80) help.pop_back();
  if (!help.empty() && static_cast<unsigned char>(help.back()) >= 0xc0) help.pop_back();
  return help;
}

}  // namespace

Status ExpositionParser::ParseWindow(std::string_view window, bool is_cut) {
  while (!window.empty()) {
    const size_t length = std::min(window.find('\n'), window.size() - 1) + 1;
    const std::string_view line = WithoutSpace(window.substr(0, length));
    window.remove_prefix(length);
    if (line.starts_with('#')) {
      ParseComment(line);
    } else if (is_cut) {
      ++records_;
      Lose("invalid_line", "longer than is read");
    } else if (!line.empty()) {
      ++records_;
      TELLTALE_TRY(ParseSample(line));
    }
    ++line_;
  }
  return {};
}

void ExpositionParser::ParseComment(std::string_view line) {
  const Comment comment = ReadComment(line);
  if (comment.keyword == "EOF") {
    is_open_metrics_ = true;
    ++scrape_;
    return;
  }
  const bool is_help = comment.keyword == "HELP";
  if (!is_help && comment.keyword != "TYPE") return;
  const auto known = about_.find(std::string(comment.name));
  if (known == about_.end() && held_bytes_ > kMostHeldBytes) return;
  About& about = known != about_.end() ? known->second : about_[std::string(comment.name)];
  if (known == about_.end()) held_bytes_ += comment.name.size() + kMostHelpBytes + kBytesBeside;
  if (is_help) {
    about.help = HelpText(comment.text);
  } else if (IsType(comment.text)) {
    about.type = comment.text;
  }
}

Status ExpositionParser::ParseSample(std::string_view line) {
  if (!ReadSampleLine(line, sample_)) {
    Lose("invalid_line", "no sample: name{labels} value, perhaps with a time");
    return {};
  }
  TELLTALE_ASSIGN(Known* const known, FindSeries());
  if (known == nullptr) {
    Lose("too_many_series", "of a series beyond those that one file is let have");
    return {};
  }
  // No scrape has a sample of a series twice, unless each says its time.
  if (!sample_.time_ns && known->scrape > scrape_) ++scrape_;
  if (!sample_.time_ns) known->scrape = scrape_ + 1;
  if (sample_.has_exemplar) {
    losses_.Add("exemplar", "note", 1, line_, "exemplars of samples are not kept");
  }
  ++rows_;
  return sink_.Take(Sample{known->number, line_, scrape_, sample_.time_ns, sample_.value});
}

Result<ExpositionParser::Known*> ExpositionParser::FindSeries() {
  // Lengths in front, so that no text can pass for another's label.
  key_.clear();
  const auto add = [&](const std::string& text) {
    ((key_ += std::to_string(text.size())) += ':') += text;
  };
  add(sample_.name);
  for (const auto& [name, value] : sample_.labels) {
    add(name);
    add(value);
  }
  const auto found = series_.find(key_);
  if (found != series_.end()) return &found->second;
  if (held_bytes_ > kMostHeldBytes) return nullptr;
  held_bytes_ += key_.size() + kBytesBeside;
  About about = AboutName(sample_.name);
  Known& known = series_[key_];
  known.number = series_.size() - 1;
  TELLTALE_TRY(sink_.Take(Series{known.number, sample_.name, std::move(about.type),
                                 std::move(about.help), sample_.labels}));
  return &known;
}

ExpositionParser::About ExpositionParser::AboutName(std::string_view name) const {
  const auto own = about_.find(std::string(name));
  if (own != about_.end()) return own->second;
  for (const std::string_view suffix : kSuffixes) {
    if (!name.ends_with(suffix)) continue;
    const auto family = about_.find(std::string(name.substr(0, name.size() - suffix.size())));
    if (family != about_.end()) return family->second;
  }
  return {};
}

bool LooksLikeExposition(std::string_view head) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  bool has_type = false;
  while (!head.empty()) {
    const size_t end = head.find('\n');
    const bool is_whole = end != std::string_view::npos;
    const std::string_view line = WithoutSpace(head.substr(0, end));
    head.remove_prefix(is_whole ? end + 1 : head.size());
    if (line.empty()) continue;
    if (line.starts_with('#')) {
      const Comment comment = ReadComment(line);
      has_type = has_type || (comment.keyword == "TYPE" && IsType(comment.text));
      if (comment.name.starts_with("nccl_") || comment.name.starts_with("rccl_")) return false;
      continue;
    }
    if (line.starts_with("nccl_") || line.starts_with("rccl_")) return false;
    SampleLine sample;
    const bool is_known =
        line.starts_with("DCGM_") || line.starts_with("vllm:") || line.starts_with("sglang:");
    if (!is_known && !has_type) return false;
    return ReadSampleLine(line, sample) || (!is_whole && has_type);
  }
  return has_type;
}

}  // namespace telltale::prometheus
