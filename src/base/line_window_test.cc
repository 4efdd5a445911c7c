#include "base/line_window.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace telltale {
namespace {

struct Piece {
  uint64_t offset = 0;
  std::string text;
  bool cut = false;
  bool operator==(const Piece&) const = default;
};

void PrintTo(const Piece& piece, std::ostream* out) {
  *out << piece.offset << (piece.cut ? " cut " : " ") << testing::PrintToString(piece.text);
}

// The lines that a file consists of by the rules of LineWindow, one piece a line.
std::vector<Piece> Expected(std::string_view text, size_t max_line_bytes) {
  std::vector<Piece> pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t newline = text.find('\n', at);
    const size_t end = newline == std::string_view::npos ? text.size() : newline + 1;
    const bool cut = end - at > max_line_bytes;
    pieces.push_back({at, std::string(text.substr(at, cut ? max_line_bytes : end - at)), cut});
    at = end;
  }
  return pieces;
}

// What LineWindow gives, windows taken apart into lines.
std::vector<Piece> Actual(std::string_view text, size_t window_bytes, size_t max_line_bytes) {
  const auto stream = MemoryStream(text);
  LineWindow windows(*stream, window_bytes, max_line_bytes);
  std::vector<Piece> pieces;
  while (true) {
    const auto window = windows.Next();
    EXPECT_TRUE(window);
    if (window->empty()) break;
    if (windows.cut_line()) {
      EXPECT_EQ(window->find('\n'), std::string_view::npos);
      pieces.push_back({windows.offset(), std::string(*window), true});
      continue;
    }
    for (size_t at = 0; at < window->size();) {
      const size_t newline = window->find('\n', at);
      const size_t end = newline == std::string_view::npos ? window->size() : newline + 1;
      pieces.push_back({windows.offset() + at, std::string(window->substr(at, end - at)), false});
      at = end;
    }
    // Readers may look (not use) beyond the window.
    volatile char sum = 0;
    for (size_t i = 0; i < LineWindow::kPadding; ++i) {
      sum = static_cast<char>(sum + window->data()[window->size() + i]);
    }
  }
  EXPECT_TRUE(windows.Next()->empty()) << "a window after the end";
  return pieces;
}

TEST(LineWindow, NothingGivesNothing) { EXPECT_TRUE(Actual("", 16, 64).empty()); }

TEST(LineWindow, KeepsALastLineWithoutNewline) {
  EXPECT_EQ(Actual("a\nbc", 16, 64), Expected("a\nbc", 64));
  EXPECT_EQ(Actual("abc", 16, 64), Expected("abc", 64));
  EXPECT_EQ(Actual("\n", 16, 64), Expected("\n", 64));
  EXPECT_EQ(Actual("\n\n\nx", 1, 64), Expected("\n\n\nx", 64));
}

TEST(LineWindow, CutsAtTheLimitExactly) {
  for (const size_t length : {7, 8, 9, 10, 100}) {
    const std::string line(length, 'x');
    for (const std::string& text :
         {line, line + "\n", "a\n" + line + "\nb\n", line + "\n" + line}) {
      for (size_t window = 1; window <= 20; ++window) {
        EXPECT_EQ(Actual(text, window, 9), Expected(text, 9)) << text << " window " << window;
      }
    }
  }
}

TEST(LineWindow, AnyWindowGivesTheSameLines) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const size_t lines = random() % 20;
    for (size_t i = 0; i < lines; ++i) {
      const size_t length = random() % 4 == 0 ? random() % 150 : random() % 12;
      text += std::string(length, static_cast<char>('a' + i % 26)) + '\n';
    }
    if (random() % 2 == 0 && !text.empty()) text.pop_back();
    const size_t limit = 1 + random() % 120;
    const std::vector<Piece> expected = Expected(text, limit);
    for (const size_t window : {1, 2, 3, 5, 16, 31, 64, 100, 1000}) {
      ASSERT_EQ(Actual(text, window, limit), expected) << "window " << window << " limit " << limit;
    }
  }
}

// Gives one long line after another, without end.
class LongLines : public ByteStream {
 public:
  LongLines(uint64_t line_bytes, uint64_t lines)
      : line_bytes_(line_bytes), left_(line_bytes * lines) {}
  Result<size_t> Read(std::span<char> out) override {
    const size_t take = std::min<uint64_t>(out.size(), left_);
    for (size_t i = 0; i < take; ++i, --left_) out[i] = left_ % line_bytes_ == 1 ? '\n' : 'x';
    return take;
  }

 private:
  uint64_t line_bytes_;
  uint64_t left_;
};

TEST(LineWindow, ManyLongLinesAreAllCutAlike) {
  // Lines a little longer than the limit: no window may grow until they fit.
  LongLines stream(1200, 500);
  LineWindow windows(stream, 100, 1000);
  size_t cut = 0;
  while (true) {
    const auto window = windows.Next();
    ASSERT_TRUE(window);
    if (window->empty()) break;
    ASSERT_TRUE(windows.cut_line());
    ASSERT_EQ(window->size(), 1000U);
    ASSERT_EQ(windows.offset(), 1200 * cut);
    ++cut;
  }
  EXPECT_EQ(cut, 500U);
}

// Fails at once, or after some bytes.
class FailingStream : public ByteStream {
 public:
  explicit FailingStream(std::string text) : text_(std::move(text)) {}
  Result<size_t> Read(std::span<char> out) override {
    if (text_.empty()) return Fail("a.log: read: Input/output error");
    const size_t take = std::min(out.size(), text_.size());
    std::copy_n(text_.begin(), take, out.begin());
    text_.erase(0, take);
    if (take < out.size()) return Fail("a.log: read: Input/output error");
    return take;
  }

 private:
  std::string text_;
};

TEST(LineWindow, PassesOnReadErrors) {
  for (const std::string& text : {std::string(), std::string("a\nb\n"), std::string(500, 'x')}) {
    FailingStream stream(text);
    LineWindow windows(stream, 16, 64);
    Result<std::string_view> window = windows.Next();
    for (int i = 0; window && i < 100; ++i) window = windows.Next();
    ASSERT_FALSE(window);
    EXPECT_EQ(window.error().message, "a.log: read: Input/output error");
  }
}

}  // namespace
}  // namespace telltale
