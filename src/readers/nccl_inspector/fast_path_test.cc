// Whatever the bytes are, the fast path and the general path make the same of them; and so do the
// same bytes in windows of any size. Property tests with seeds, over lines of all samples and of
// the simulator, damaged in the ways that lines are damaged.

#include "readers/nccl_inspector/fast_path.h"

#include <gtest/gtest.h>

#include <random>

#include <fmt/format.h>

#include "simulate/inspector_line.h"
#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using namespace nccl_inspector;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t Below(size_t limit) { return limit == 0 ? 0 : engine_() % limit; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename Items>
  const auto& Of(const Items& items) {
    return items[Below(items.size())];
  }

 private:
  std::mt19937_64 engine_;
};

// Files of the simulator's writer in every format: a few communicators, operations and sizes.
std::string SimulatedFile(simulate::InspectorFormat format, Random& random) {
  using namespace simulate;
  std::vector<InspectorLineWriter> writers;
  for (uint64_t rank = 0; rank < 3; ++rank) {
    InspectorIdentity identity;
    identity.communicator_hash = 0x1122334455667788 + rank;
    identity.communicator_name = rank == 0 ? "WORLD" : "PP/DP Rail " + std::to_string(rank);
    identity.writes_name = format != InspectorFormat::kV40 || random.OneIn(2);
    identity.rank = rank;
    identity.rank_count = 4 << rank;
    identity.node_count = 1 + rank;
    identity.hostname = "node1";
    identity.pid = 77;
    writers.emplace_back(format, identity);
  }
  LineBuffer out;
  uint64_t time = 1'700'000'000'000'000;
  uint64_t sequence = 0;
  for (int dump = 0; dump < 12; ++dump) {
    for (const InspectorLineWriter& writer : writers) {
      const uint64_t collectives = random.Below(5);
      const uint64_t p2p = random.Below(3);
      time += random.Below(3000);
      if (format != InspectorFormat::kV40) {
        writer.AppendDumpStats(time, {collectives, 0, 0, p2p, 0, 0}, out);
      }
      for (uint64_t i = 0; i < collectives + p2p; ++i) {
        OperationLine line{};
        line.sequence = sequence++;
        line.peer = random.Below(3);
        line.message_bytes = size_t{4096} << random.Below(4);
        if (random.OneIn(50)) line.message_bytes = uint64_t{0} - 1000;
        line.exec_time_us = random.Below(20) * random.Below(1000);
        line.timing_source = "kernel_gpu";
        line.algorithm = "RING";
        line.protocol = "SIMPLE";
        if (i < collectives) {
          line.function = static_cast<Function>(random.Below(5));
          if (random.OneIn(20)) line.function = Function::kInvalid;
          writer.AppendCollective(time, line, out);
        } else {
          line.function = random.OneIn(2) ? Function::kSend : Function::kRecv;
          writer.AppendPointToPoint(time, line, out);
        }
      }
    }
  }
  return std::string(out.text());
}

// All lines to take from, file by file.
std::vector<std::vector<std::string>> Corpus() {
  std::vector<std::vector<std::string>> files;
  for (const std::string& folder : InspectorSampleFolders()) {
    for (const std::string& path : FilesIn(folder)) files.push_back(LinesOf(BytesOf(path)));
  }
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    files.push_back(LinesOf(SimulatedFile(static_cast<simulate::InspectorFormat>(i % 5), random)));
  }
  return files;
}

// A number of any length and form, right or wrong.
std::string AnyNumber(Random& random) {
  static const std::vector<std::string> special = {"0",
                                                   "-0",
                                                   "00",
                                                   "-1",
                                                   "1.0",
                                                   "0.000000",
                                                   "4294967295",
                                                   "4294967296",
                                                   "9223372036854775",
                                                   "9223372036854776",
                                                   "9223372036854775807",
                                                   "9223372036854775808",
                                                   "18446744073709551615",
                                                   "18446744073709551616",
                                                   "999999999.999999",
                                                   "1000000000.000000",
                                                   "0.0000005",
                                                   "1e5",
                                                   "1E-3",
                                                   "-5.250000",
                                                   "null",
                                                   "\"nan\"",
                                                   "\"7\"",
                                                   "+1",
                                                   "0x10",
                                                   "1.",
                                                   ".5",
                                                   "1.5000000",
                                                   "1.50000",
                                                   ""};
  if (random.OneIn(3)) return random.Of(special);
  std::string digits;
  for (size_t length = 1 + random.Below(21); digits.size() < length;) {
    digits += static_cast<char>('0' + random.Below(10));
  }
  return digits;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Where a run of digits starts in the line; npos if there is none.
size_t AnyDigits(const std::string& line, Random& random) {
  const size_t from = random.Below(line.size());
  for (size_t i = 0; i < line.size(); ++i) {
    const size_t at = (from + i) % line.size();
    if (IsDigit(line[at]) && (at == 0 || !IsDigit(line[at - 1]))) return at;
  }
  return std::string::npos;
}

void Damage(std::string& line, Random& random) {
  if (line.size() < 4) return;
  const size_t at = random.Below(line.size());
  switch (random.Below(14)) {
    case 0:
      line[at] = static_cast<char>(random.Below(256));
      break;
    case 1:
      line[at] = random.Of(std::string_view("0123456789\"{}[],:.-eE\\ \t\r\n"));
      break;
    case 2:
      line.erase(at, 1 + random.Below(3));
      break;
    case 3:
      line.insert(at, 1, random.Of(std::string_view("0123456789\"{},: \\x")));
      break;
    case 4:  // cut, the line end kept
      line = line.substr(0, at) + "\n";
      break;
    case 5:
    case 6:
    case 7: {  // another number
      const size_t begin = AnyDigits(line, random);
      if (begin == std::string::npos) break;
      size_t end = begin;
      while (end < line.size() && IsDigit(line[end])) ++end;
      line.replace(begin, end - begin, AnyNumber(random));
      break;
    }
    case 8: {  // another last digit of a bandwidth
      const size_t point = line.find('.', random.OneIn(2) ? line.size() / 2 : 0);
      if (point == std::string::npos || point + 6 >= line.size()) break;
      line[point + 6] = static_cast<char>('0' + random.Below(10));
      break;
    }
    case 9: {  // a key twice
      const size_t comma = line.find(',', at);
      const size_t next = comma == std::string::npos ? comma : line.find(',', comma + 1);
      if (next == std::string::npos) break;
      line.insert(next, line.substr(comma, next - comma));
      break;
    }
    case 10: {  // two members swapped
      const size_t a = line.find(',', at);
      const size_t b = a == std::string::npos ? a : line.find(',', a + 1);
      const size_t c = b == std::string::npos ? b : line.find_first_of(",}", b + 1);
      if (c == std::string::npos) break;
      line = line.substr(0, a) + line.substr(b, c - b) + line.substr(a, b - a) + line.substr(c);
      break;
    }
    case 11:  // white space between tokens
      for (size_t i = at; i < line.size(); ++i) {
        if (line[i] != ',' && line[i] != ':') continue;
        line.insert(i + 1, random.OneIn(2) ? " " : "\t");
        break;
      }
      break;
    case 12:  // Windows line end
      if (line.ends_with('\n')) line.insert(line.size() - 1, "\r");
      break;
    case 13:  // joined with the next line
      if (line.ends_with('\n')) line.pop_back();
      break;
  }
}

// A piece of some file, some lines damaged, repeated, swapped or from elsewhere.
std::string DamagedPiece(const std::vector<std::vector<std::string>>& corpus, Random& random) {
  const std::vector<std::string>& file = random.Of(corpus);
  if (file.empty()) return "";
  const size_t begin = random.OneIn(3) ? 0 : random.Below(file.size());
  const size_t count = std::min(file.size() - begin, 1 + random.Below(60));
  std::vector<std::string> lines(file.begin() + static_cast<ptrdiff_t>(begin),
                                 file.begin() + static_cast<ptrdiff_t>(begin + count));
  for (size_t i = random.Below(8); i > 0; --i) {
    std::string& line = lines[random.Below(lines.size())];
    const std::vector<std::string>& other = random.Of(corpus);
    switch (random.Below(8)) {
      case 0:
        if (!other.empty()) line = random.Of(other);
        break;
      case 1:
        line = random.Of(lines);
        break;
      case 2:
        line.swap(lines[random.Below(lines.size())]);
        break;
      case 3: {  // the line again, with one thing changed: closest to what the fast path knows
        std::string copy = line;
        Damage(copy, random);
        lines.insert(lines.begin() + static_cast<ptrdiff_t>(random.Below(lines.size() + 1)), copy);
        break;
      }
      default:
        Damage(line, random);
    }
  }
  std::string bytes;
  for (const std::string& line : lines) bytes += line;
  if (random.OneIn(4)) bytes.resize(random.Below(bytes.size() + 1));
  return bytes;
}

TEST(FastPathProperty, SameAsTheGeneralPath) {
  const auto corpus = Corpus();
  ASSERT_FALSE(corpus.empty());
  uint64_t lines = 0;
  uint64_t fast_lines = 0;
  uint64_t lost = 0;
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    Random random(seed);
    // Behind the piece, enough undamaged lines that the fast path may see all of it.
    std::string bytes = DamagedPiece(corpus, random);
    if (!bytes.empty() && bytes.back() != '\n' && random.OneIn(2)) bytes += "\n";
    bytes += DamagedPiece(corpus, random);
    const Parsed fast = Parse(bytes, true);
    const Parsed general = Parse(bytes, false);
    ASSERT_TRUE(SameText(TextOf(fast.data), TextOf(general.data))) << "seed " << seed;
    ASSERT_EQ(fast.data.lines, LinesOf(bytes).size()) << "seed " << seed;
    ASSERT_EQ(fast.data.lines, fast.data.rows + LineLossesOf(fast.data)) << "seed " << seed;
    lines += fast.data.lines;
    fast_lines += fast.fast_lines;
    lost += LineLossesOf(fast.data);
  }
  // The test does test both; without sample data, short pieces of many formats teach the fast path
  // little.
  EXPECT_GT(fast_lines, lines / (InspectorSampleFolders().empty() ? 20 : 4));
  EXPECT_GT(lost, lines / 100);
}

// Whole files, undamaged: nearly all operation lines must go the fast path, or it is of no use.
TEST(FastPathProperty, TakesNearlyAllLines) {
  InspectorLine line;
  std::string bytes;
  for (uint64_t i = 0; i < 2000; ++i) {
    line.sequence = i;
    line.exec_time_us = 50 + i % 97;
    line.message_bytes = uint64_t{4096} << (i % 8);
    bytes += line.Text();
  }
  const Parsed parsed = Parse(bytes);
  EXPECT_EQ(parsed.data.rows, 2000U);
  EXPECT_GT(parsed.fast_lines, 1980U);
}

// Every bandwidth that "%f" can print beside a time and a size: the fast path keeps it exactly.
TEST(FastPathProperty, EveryBandwidthIsExact) {
  Random random(7);
  std::string bytes;
  std::vector<InspectorLine> lines;
  for (uint64_t i = 0; i < 4000; ++i) {
    InspectorLine line;
    static const std::vector<std::string> operations = {"AllReduce", "AllGather", "ReduceScatter",
                                                        "Broadcast", "Invalid"};
    line.operation = random.Of(operations);
    line.n_ranks = random.Of(std::vector<int64_t>{1, 2, 3, 7, 8, 1000});
    line.message_bytes = random.Of(std::vector<uint64_t>{1, 8192, 1000003, 1ULL << 30, 1ULL << 45});
    line.sequence = i;
    line.exec_time_us = 1 + random.Below(100000);
    bytes += line.Text();
    lines.push_back(line);
  }
  const Parsed parsed = Parse(bytes);
  EXPECT_GT(parsed.fast_lines, 3000U);
  ASSERT_TRUE(SameText(TextOf(parsed.data), TextOf(Parse(bytes, false).data)));
  ASSERT_EQ(parsed.data.rows, lines.size());
}

// Lines as the fast path may know them, with a header of their own and below a marker.
std::vector<std::vector<std::string>> KnownLines() {
  std::vector<std::vector<std::string>> files;
  for (const bool is_p2p : {false, true}) {
    InspectorLine line;
    line.is_p2p = is_p2p;
    if (is_p2p) line.operation = "Send";
    std::vector<std::string> lines;
    for (const uint64_t exec_time_us : {97, 1070, 1083}) {
      line.exec_time_us = exec_time_us;
      line.sequence += 9;
      line.dump_timestamp_us += 3;
      lines.push_back(line.Text());
    }
    files.push_back(lines);
    line.version = "v4.3";
    for (std::string& text : lines) {
      line.sequence += 1;
      text = line.Payload();
    }
    const uint64_t many = 1000;
    lines.insert(lines.begin(), line.Marker(is_p2p ? 0 : many, is_p2p ? many : 0));
    files.push_back(lines);
  }
  return files;
}

// `others`, each behind known lines of `file` and in front of one.
void SameBehindKnownLines(const std::vector<std::string>& file,
                          const std::vector<std::string>& others) {
  std::string bytes;
  for (const std::string& line : file) bytes += line;
  for (const std::string& other : others) bytes += file.back() + other;
  bytes += file.back();
  ASSERT_TRUE(SameText(TextOf(Parse(bytes).data), TextOf(Parse(bytes, false).data)))
      << others.front();
}

TEST(FastPathProperty, EveryByteMatters) {
  constexpr std::string_view kBytes("0123456789.,:}\"\\-ehp \n\0\xb5", 23);
  for (const std::vector<std::string>& file : KnownLines()) {
    for (size_t i = 0; i < file.back().size(); ++i) {
      std::vector<std::string> others;
      for (const char byte : kBytes) {
        others.push_back(file.back());
        others.back()[i] = byte;
        others.push_back(file.back());
        others.back().insert(i, 1, byte);
      }
      others.push_back(file.back());
      others.back().erase(i, 1);
      SameBehindKnownLines(file, others);
    }
  }
}

// What a number looks like at first does not make it the one that was there last time.
TEST(FastPathProperty, NumbersThatBeginAlike) {
  InspectorLine line;
  line.message_bytes = 8192;
  line.exec_time_us = 100;
  std::vector<std::string> others;
  for (const uint64_t time :
       {1'700'000'000'000'001ull, 1'700'000'099'999'999ull, 1'700'000'100'000'000ull,
        1'700'000'200'000'000ull, 170'000'000'000'000ull, 17'000'000'000'000'000ull,
        1'700'000'010'000'000ull, 9'223'372'036'854'775ull, 9'223'372'036'854'776ull,
        9'999'999'999'999'999ull, 17'000'000ull, 170'000'000ull, 0ull}) {
    InspectorLine other = line;
    other.dump_timestamp_us = time;
    others.push_back(other.Text());
    others.push_back(Replaced(other.Text(), "dump_timestamp_us\":", "dump_timestamp_us\":0"));
  }
  for (const uint64_t message_bytes : {8192, 819, 8193, 81920, 81921, 0}) {
    InspectorLine other = line;
    other.message_bytes = message_bytes;
    others.push_back(other.Text());
    others.push_back(Replaced(other.Text(), "msg_size_bytes\":", "msg_size_bytes\":0"));
  }
  for (const uint64_t number :
       {0ull, 1ull, 10ull, 99ull, 1000ull, 9'999'999ull, 10'000'000ull, 99'999'999ull,
        100'000'000ull, 999'999'999ull, 1'000'000'000ull, 4'294'967'295ull, 4'294'967'296ull}) {
    InspectorLine other = line;
    other.sequence = number;
    others.push_back(other.Text());
    other.sequence = 0;
    other.exec_time_us = number;
    others.push_back(other.Text());
  }
  SameBehindKnownLines({line.Text()}, others);
}

// The last lines of a window go the fast path too, and know nothing of what is behind them.
TEST(FastPathProperty, LinesAtTheEndOfAWindow) {
  InspectorLine line;
  std::string bytes;
  for (uint64_t i = 0; i < 2000; ++i) {
    line.sequence = i;
    bytes += line.Text();
  }
  const std::string whole = TextOf(Parse(bytes, false).data);
  for (const size_t window : {size_t{600}, size_t{2000}, size_t{5000}}) {
    const Parsed parsed = Parse(bytes, true, window);
    EXPECT_GT(parsed.fast_lines, 1990U) << window;
    EXPECT_TRUE(SameText(TextOf(parsed.data), whole)) << window;
  }
  for (size_t cut = 1; cut < line.Text().size(); ++cut) {
    const std::string_view most =
        std::string_view(bytes).substr(bytes.size() - 4 * line.Text().size());
    const std::string_view part = most.substr(0, most.size() - cut);
    ASSERT_TRUE(SameText(TextOf(Parse(part).data), TextOf(Parse(part, false).data))) << cut;
  }
}

TEST(LineWindowProperty, AnyWindowSize) {
  const auto corpus = Corpus();
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(1000000 + seed);
    const std::string bytes = DamagedPiece(corpus, random);
    const std::string whole = TextOf(Parse(bytes, true).data);
    for (int i = 0; i < 6; ++i) {
      const size_t window =
          1 + (random.OneIn(2) ? random.Below(300) : random.Below(bytes.size() + 100));
      ASSERT_TRUE(SameText(TextOf(Parse(bytes, true, window).data), whole))
          << "seed " << seed << " window " << window;
    }
  }
  // And every size from 1 on, for one short file.
  Random random(5);
  const std::string bytes = SimulatedFile(simulate::InspectorFormat::kV43, random).substr(0, 3000);
  const std::string whole = TextOf(Parse(bytes).data);
  for (size_t window = 1; window < bytes.size() + 2; ++window) {
    ASSERT_TRUE(SameText(TextOf(Parse(bytes, true, window).data), whole)) << "window " << window;
  }
}

}  // namespace
}  // namespace telltale::test
