#include "readers/nccl_inspector/fast_path.h"

#include <cstring>
#include <limits>

#include "base/digits.h"
#include "readers/nccl_inspector/bandwidth.h"

namespace telltale::nccl_inspector {
namespace {

// More templates than this are not worth remembering: no process has so many communicators.
constexpr size_t kMaxTemplates = 512;
// Some 3 KB each, and more only in what was made of many processes' files.
constexpr uint32_t kMaxRanks = 16384;
// With these and the numbers between them a line stays below kLongestLine.
constexpr size_t kMaxTemplateBytes = 1024;
constexpr size_t kMaxOperationBytes = 512;
constexpr uint64_t kMaxTimestampUs = std::numeric_limits<int64_t>::max() / 1000;
constexpr double kLargestExactMicro = 4503599627370496.0;  // 2^52

// Whether the view would give `millionths` (below 1e15) back for this bandwidth, which is not
// negative: whether they are its nearest integer.
bool Follows(double bandwidth, uint64_t millionths) {
  const double micro = bandwidth * 1e6;
  // If the exact difference is a half or more, so is the rounded one.
  const double difference = micro - static_cast<double>(static_cast<int64_t>(millionths));
  if (difference > -0.5 && difference < 0.5) [[likely]]
    return true;
  return micro < kLargestExactMicro && NearestInteger(micro) == millionths;
}

bool TakeLiteral(const char*& at, std::string_view literal) {
  if (std::memcmp(at, literal.data(), literal.size()) != 0) return false;
  at += literal.size();
  return true;
}

}  // namespace

const char* FastPath::TryNearEnd(const char* begin, const char* end, uint64_t line_number,
                                 MarkerContext& marker) {
  const auto size = static_cast<size_t>(end - begin);
  std::memcpy(end_of_window_.data(), begin, size);
  // No known line has a byte of 0, so that none reaches beyond the end.
  std::memset(end_of_window_.data() + size, 0, kLongestLine);
  const char* behind = TryWithRoom(end_of_window_.data(), line_number, marker);
  return behind == nullptr ? nullptr : begin + (behind - end_of_window_.data());
}

// Where it is not that of the line before.
[[gnu::noinline]] const FastPath::Template* FastPath::FindTemplate(const char* begin) {
  const auto is = [&](const Template& candidate) {
    return ExpectedText::IsNone(candidate.head.DifferenceTo(begin));
  };
  Template& last = templates_[last_template_];
  if (is(templates_[last.next])) {
    last_template_ = last.next;
    return &templates_[last.next];
  }
  for (uint32_t i = 0; i < templates_.size(); ++i) {
    if (!is(templates_[i])) continue;
    last.next = i;
    last_template_ = i;
    return &templates_[i];
  }
  return nullptr;
}

inline bool FastPath::ReadTimestamp(const char*& at, uint64_t& timestamp_us) {
  const uint64_t front = LoadEight(at);
  const uint64_t back = LoadEight(at + 8);
  if (front == time_front_text_ && MarkNonDigits(back) == 0) [[likely]] {
    // A seventeenth digit would be no tail.
    timestamp_us = time_front_ * 100000000 + EightDigits(back);
    at += 16;
  } else {
    const char* const start = at;
    if (!ReadInteger(at, timestamp_us)) return false;
    if (at - start == 16) {
      time_front_text_ = front;
      time_front_ = timestamp_us / 100000000;
    }
  }
  return timestamp_us <= kMaxTimestampUs;
}

// What is known of the rank to whose marker a headerless line belongs.
inline FastPath::RankShapes* FastPath::RankOfMarker(const MarkerContext& marker, PayloadKind kind,
                                                    uint64_t& dump_timestamp_us) const {
  const uint32_t rank = marker.communicator_rank();
  const std::optional<uint64_t>& time = marker.dump_timestamp_us();
  if (rank >= ranks_.size() || !time || *time > kMaxTimestampUs || !marker.CanTake(kind)) {
    return nullptr;
  }
  dump_timestamp_us = *time;
  return ranks_[rank].get();
}

[[gnu::always_inline]] inline const char* FastPath::Match(const char* at,
                                                          ExpectedText::Difference difference,
                                                          const Operation& operation, Shape& shape,
                                                          Numbers& numbers) {
  // Whether all texts are right is asked once, at the end: behind a wrong one there is hardly ever
  // a number.
  const auto take = [&](const ExpectedText& text) {
    difference |= text.DifferenceTo(at);
    at += text.size();
  };
  take(operation.name_part);
  if (!ReadGuessedInteger(at, shape.sequence_digits, numbers.sequence)) return nullptr;
  take(shape.size_part);
  if (!ReadGuessedInteger(at, shape.time_digits, numbers.exec_time_us)) return nullptr;
  take(operation.timing_part);
  if (!ReadGuessedMillionths(at, shape.algobw_digits, numbers.algobw)) return nullptr;
  take(operation.bus_part);
  if (!ReadGuessedMillionths(at, shape.busbw_digits, numbers.busbw)) return nullptr;
  if (!ExpectedText::IsNone(difference) || !TakeLiteral(at, "}}\n")) return nullptr;
  return at;
}

// The only shape that can match.
[[gnu::noinline]] FastPath::Shape* FastPath::FindShape(const char* at, RankShapes& rank) {
  const auto is = [](const ExpectedText& expected, const char* text) {
    return ExpectedText::IsNone(expected.DifferenceTo(text));
  };
  const char* const name_part = at;
  size_t i = 0;
  while (i < rank.operations.size() && !is(rank.operations[i].name_part, at)) ++i;
  if (i == rank.operations.size()) return nullptr;
  at += rank.operations[i].name_part.size();
  uint64_t number = 0;
  uint64_t peer = 0;
  uint64_t message_bytes = 0;
  if (!ReadInteger(at, number)) return nullptr;
  const char* const size_part = at;
  if (TakeLiteral(at, R"(,"p2p_peer":)")) {
    if (!ReadInteger(at, peer) || !TakeLiteral(at, R"(,"p2p_msg_size_bytes":)")) return nullptr;
  } else if (!TakeLiteral(at, R"(,"coll_msg_size_bytes":)")) {
    return nullptr;
  }
  if (!ReadInteger(at, message_bytes)) return nullptr;
  const auto [first, last] = rank.by_size.equal_range(message_bytes);
  for (auto entry = first; entry != last; ++entry) {
    Shape& shape = rank.shapes[entry->second];
    const Operation& operation = rank.operations[shape.operation];
    if (shape.peer != peer || !is(operation.name_part, name_part) ||
        !is(shape.size_part, size_part)) {
      continue;
    }
    const char* timing_part = size_part + shape.size_part.size();
    if (ReadInteger(timing_part, number) && is(operation.timing_part, timing_part)) return &shape;
  }
  return nullptr;
}

// `difference` is what was found in front of `at`.
[[gnu::always_inline]] inline const char* FastPath::TryPerf(const char* at,
                                                            ExpectedText::Difference difference,
                                                            RankShapes& rank, uint64_t line_number,
                                                            uint64_t dump_timestamp_us) {
  if (rank.shapes.empty()) return nullptr;
  uint32_t& guess = rank.Next();
  Shape* shape = &rank.shapes[guess];
  Numbers numbers;
  const char* behind = nullptr;
  while ((behind = Match(at, difference, rank.operations[shape->operation], *shape, numbers)) ==
         nullptr) {
    const Shape* const wrong = shape;
    shape = FindShape(at, rank);
    if (shape == nullptr || shape == wrong) return nullptr;
    guess = static_cast<uint32_t>(shape - rank.shapes.data());
  }
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  if ((numbers.sequence | numbers.exec_time_us) > kMax32) return nullptr;
  const Bandwidths bandwidths =
      BandwidthsOf(shape->traffic_gb, shape->bus_factor, numbers.exec_time_us);
  if (!Follows(bandwidths.algorithm, numbers.algobw) || !Follows(bandwidths.bus, numbers.busbw)) {
    return nullptr;
  }

  rank.Saw(guess);
  Record record;
  record.sequence = static_cast<uint32_t>(numbers.sequence);
  record.exec_time_us = static_cast<uint32_t>(numbers.exec_time_us);
  record.line = static_cast<uint32_t>(line_number);
  record.dump_timestamp_us = static_cast<int64_t>(dump_timestamp_us);
  builder_.AddRecord(shape->series, record);
  return behind;
}

const char* FastPath::TryWithRoom(const char* begin, uint64_t line_number, MarkerContext& marker) {
  if (line_number > std::numeric_limits<uint32_t>::max()) return nullptr;
  const bool has_header = begin[2] == 'h';
  const PayloadKind kind = begin[2] == 'p' ? PayloadKind::kP2p : PayloadKind::kCollective;
  const char* at = begin;
  RankShapes* rank = nullptr;
  uint64_t dump_timestamp_us = 0;
  ExpectedText::Difference difference = {0, 0};
  if (has_header) {
    if (templates_.empty()) return nullptr;
    const Template* match = &templates_[last_template_];
    if (!ExpectedText::IsNone(match->head.DifferenceTo(at))) {
      match = FindTemplate(at);
      if (match == nullptr) return nullptr;
    }
    at += match->head.size();
    if (!ReadTimestamp(at, dump_timestamp_us)) return nullptr;
    difference = match->tail.DifferenceTo(at);
    at += match->tail.size();
    rank = match->rank;
  } else {
    rank = begin[0] == '{' ? RankOfMarker(marker, kind, dump_timestamp_us) : nullptr;
    if (rank == nullptr) return nullptr;
    ++at;
  }
  const char* behind = TryPerf(at, difference, *rank, line_number, dump_timestamp_us);
  if (behind == nullptr) return nullptr;
  if (has_header) {
    marker.SawOwnHeader();
  } else {
    marker.Take(kind);
  }
  return behind;
}

FastPath::RankShapes& FastPath::ShapesOfRank(uint32_t communicator_rank) {
  if (communicator_rank >= ranks_.size()) ranks_.resize(communicator_rank + 1);
  std::unique_ptr<RankShapes>& rank = ranks_[communicator_rank];
  if (rank == nullptr) rank = std::make_unique<RankShapes>();
  return *rank;
}

void FastPath::LearnTemplate(const StockLine& stock, RankShapes& rank) {
  if (stock.head.size() + stock.tail.size() >= kMaxTemplateBytes) return;
  for (const Template& known : templates_) {
    if (known.head.Is(stock.head) && known.tail.Is(stock.tail)) return;
  }
  if (templates_.size() >= kMaxTemplates) return;
  templates_.push_back({ExpectedText(stock.head), ExpectedText(stock.tail), &rank,
                        static_cast<uint32_t>(templates_.size())});
}

uint32_t FastPath::LearnOperation(const StockLine& stock, RankShapes& rank) {
  for (uint32_t i = 0; i < rank.operations.size(); ++i) {
    const Operation& known = rank.operations[i];
    if (known.name_part.Is(stock.name_part) && known.timing_part.Is(stock.timing_part)) return i;
  }
  rank.operations.push_back({ExpectedText(stock.name_part), ExpectedText(stock.timing_part),
                             ExpectedText(stock.bus_part)});
  return static_cast<uint32_t>(rank.operations.size() - 1);
}

void FastPath::Learn(std::string_view line, const LineOutcome& outcome) {
  if (outcome.loss != nullptr || !outcome.is_operation) return;
  const std::optional<StockLine> stock = MatchStockLine(line);
  if (!stock) return;
  const Series& series = builder_.data().series[outcome.series];
  if (!series.key.message_bytes) return;
  // With a negative number of ranks there are bandwidths that no view gives back.
  const bool is_rated = series.traffic_bytes >= 0 && series.bus_factor >= 0;  // not for NaN either
  if (!is_rated) return;
  if (outcome.communicator_rank >= kMaxRanks) return;

  RankShapes& rank = ShapesOfRank(outcome.communicator_rank);
  if (stock->has_header) LearnTemplate(*stock, rank);
  if (stock->name_part.size() + stock->timing_part.size() > kMaxOperationBytes) return;
  Shape shape;
  shape.operation = LearnOperation(*stock, rank);
  shape.series = outcome.series;
  for (const Shape& known : rank.shapes) {
    if (known.series == shape.series && known.operation == shape.operation) return;
  }
  shape.size_part = ExpectedText(stock->size_part);
  shape.message_bytes = *series.key.message_bytes;
  shape.peer = series.key.peer ? static_cast<uint64_t>(*series.key.peer) : 0;
  shape.traffic_gb = series.traffic_bytes / 1e9;
  shape.bus_factor = series.bus_factor;
  rank.by_size.emplace(shape.message_bytes, static_cast<uint32_t>(rank.shapes.size()));
  rank.shapes.push_back(std::move(shape));
}

}  // namespace telltale::nccl_inspector
