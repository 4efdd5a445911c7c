#include "readers/nccl_inspector/fast_path.h"

#include <cstring>
#include <limits>

#include "base/digits.h"
#include "readers/nccl_inspector/bandwidth.h"
#include "readers/nccl_inspector/stock_line.h"

namespace telltale::nccl_inspector {
namespace {

// More templates than this are not worth remembering: no process has so many communicators.
constexpr size_t kMaxTemplates = 512;
constexpr double kLargestExactMicro = 4503599627370496.0;  // 2^52

bool StartsWith(const char* at, const char* end, const std::string& bytes) {
  return static_cast<size_t>(end - at) >= bytes.size() &&
         std::memcmp(at, bytes.data(), bytes.size()) == 0;
}

template <size_t N>
bool TakeLiteral(const char*& at, const char (&literal)[N]) {
  if (std::memcmp(at, literal, N - 1) != 0) return false;
  at += N - 1;
  return true;
}

// Whether the view would give `millionths` back for this bandwidth.
bool Follows(double bandwidth, uint64_t millionths) {
  const double micro = bandwidth * 1e6;
  return micro >= 0 && micro < kLargestExactMicro && NearestInteger(micro) == millionths;
}

}  // namespace

const FastPath::Template* FastPath::FindTemplate(const char* begin) {
  const auto is = [&](const Template& candidate) {
    return std::memcmp(begin, candidate.head.data(), candidate.head.size()) == 0;
  };
  const Template& last = templates_[last_template_];
  if (is(last)) return &last;
  const Template& next = templates_[last.next];
  if (is(next)) {
    last_template_ = last.next;
    return &next;
  }
  for (uint32_t i = 0; i < templates_.size(); ++i) {
    if (!is(templates_[i])) continue;
    templates_[last_template_].next = i;
    last_template_ = i;
    return &templates_[i];
  }
  return nullptr;
}

const char* FastPath::TryLine(const char* begin, const char* end, uint64_t line_number,
                              MarkerContext& marker) {
  // A head is at most this long; near the end of a window the general path takes over.
  constexpr ptrdiff_t kLongestStockLine = 2048;
  if (end - begin < kLongestStockLine || line_number > std::numeric_limits<uint32_t>::max()) {
    return nullptr;
  }
  if (begin[1] == '"' && begin[2] == 'h') {
    if (templates_.empty()) return nullptr;
    const Template* match = FindTemplate(begin);
    if (match == nullptr) return nullptr;
    const char* at = begin + match->head.size();
    uint64_t dump_timestamp_us = 0;
    if (!ReadInteger(at, dump_timestamp_us) ||
        dump_timestamp_us > std::numeric_limits<int64_t>::max() / 1000) {
      return nullptr;
    }
    if (std::memcmp(at, match->tail.data(), match->tail.size()) != 0) return nullptr;
    at += match->tail.size();
    const char* behind = TryPerf(at, end, rank_shapes_[match->rank_shapes], line_number,
                                 static_cast<int64_t>(dump_timestamp_us));
    if (behind != nullptr) marker.SawOwnHeader();
    return behind;
  }
  if (begin[0] != '{' || begin[1] != '"') return nullptr;
  const bool is_p2p = begin[2] == 'p';
  const auto known = shapes_of_rank_.find(marker.communicator_rank());
  if (known == shapes_of_rank_.end() || !marker.dump_timestamp_us() ||
      *marker.dump_timestamp_us() > std::numeric_limits<int64_t>::max() / 1000) {
    return nullptr;
  }
  const PayloadKind kind = is_p2p ? PayloadKind::kP2p : PayloadKind::kCollective;
  MarkerContext taken = marker;
  if (!taken.Take(kind)) return nullptr;
  const char* behind = TryPerf(begin + 1, end, rank_shapes_[known->second], line_number,
                               static_cast<int64_t>(*marker.dump_timestamp_us()));
  if (behind != nullptr) marker = taken;
  return behind;
}

FastPath::Shape* FastPath::FindShape(RankShapes& shapes, const std::string& name_part,
                                     uint64_t message_bytes, uint64_t peer, const char* timing,
                                     const char* end) {
  const auto [first, last] = shapes.by_size.equal_range(message_bytes);
  for (auto i = first; i != last; ++i) {
    Shape& shape = shapes.shapes[i->second];
    if (shape.peer == peer && shape.name_part == name_part &&
        StartsWith(timing, end, shape.timing_part)) {
      return &shape;
    }
  }
  return nullptr;
}

const char* FastPath::TryPerf(const char* at, const char* end, RankShapes& shapes,
                              uint64_t line_number, int64_t dump_timestamp_us) {
  if (shapes.shapes.empty()) return nullptr;
  Shape* shape = &shapes.shapes[shapes.predicted];
  if (!StartsWith(at, end, shape->name_part)) {
    shape = nullptr;
    for (Shape& candidate : shapes.shapes) {
      if (!StartsWith(at, end, candidate.name_part)) continue;
      shape = &candidate;
      break;
    }
    if (shape == nullptr) return nullptr;
  }
  at += shape->name_part.size();

  uint64_t sequence = 0;
  uint64_t peer = 0;
  uint64_t message_bytes = 0;
  uint64_t exec_time_us = 0;
  if (!ReadInteger(at, sequence)) return nullptr;
  if (shape->is_p2p) {
    if (!TakeLiteral(at, R"(,"p2p_peer":)") || !ReadInteger(at, peer) ||
        !TakeLiteral(at, R"(,"p2p_msg_size_bytes":)") || !ReadInteger(at, message_bytes) ||
        !TakeLiteral(at, R"(,"p2p_exec_time_us":)")) {
      return nullptr;
    }
  } else if (!TakeLiteral(at, R"(,"coll_msg_size_bytes":)") || !ReadInteger(at, message_bytes) ||
             !TakeLiteral(at, R"(,"coll_exec_time_us":)")) {
    return nullptr;
  }
  if (!ReadInteger(at, exec_time_us)) return nullptr;
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  if (sequence > kMax32 || exec_time_us > kMax32) return nullptr;

  if (shape->message_bytes != message_bytes || shape->peer != peer ||
      !StartsWith(at, end, shape->timing_part)) {
    shape = FindShape(shapes, shape->name_part, message_bytes, peer, at, end);
    if (shape == nullptr) return nullptr;
  }
  at += shape->timing_part.size();

  uint64_t algobw = 0;
  uint64_t busbw = 0;
  if (!ReadMillionths(at, algobw)) return nullptr;
  if (shape->is_p2p ? !TakeLiteral(at, R"(,"p2p_busbw_gbs":)")
                    : !TakeLiteral(at, R"(,"coll_busbw_gbs":)")) {
    return nullptr;
  }
  if (!ReadMillionths(at, busbw) || !TakeLiteral(at, "}}\n")) return nullptr;

  const double bandwidth = AlgorithmBandwidth(shape->traffic_gb, exec_time_us);
  const double bus = exec_time_us == 0 ? 0 : bandwidth * shape->bus_factor;
  if (!Follows(bandwidth, algobw) || !Follows(bus, busbw)) return nullptr;

  const auto index = static_cast<uint32_t>(shape - shapes.shapes.data());
  shapes.shapes[shapes.previous].next = index;
  shapes.previous = index;
  shapes.predicted = shape->next;
  Record record;
  record.sequence = static_cast<uint32_t>(sequence);
  record.exec_time_us = static_cast<uint32_t>(exec_time_us);
  record.line = static_cast<uint32_t>(line_number);
  record.dump_timestamp_us = dump_timestamp_us;
  builder_.AddRecord(shape->series, record);
  return at;
}

uint32_t FastPath::ShapesOfRank(uint32_t communicator_rank) {
  const auto [place, added] =
      shapes_of_rank_.try_emplace(communicator_rank, static_cast<uint32_t>(rank_shapes_.size()));
  if (added) rank_shapes_.emplace_back();
  return place->second;
}

void FastPath::Learn(std::string_view line, const LineOutcome& outcome) {
  if (outcome.loss != nullptr || !outcome.is_operation) return;
  const std::optional<StockLine> stock = MatchStockLine(line);
  if (!stock) return;
  const Series& series = builder_.data().series[outcome.series];
  if (!series.key.message_bytes) return;

  const uint32_t rank_shapes = ShapesOfRank(outcome.communicator_rank);
  if (stock->has_header && stock->head.size() + stock->tail.size() < 1024) {
    bool known = false;
    for (const Template& candidate : templates_) {
      known = known || (candidate.head == stock->head && candidate.tail == stock->tail);
    }
    if (!known && templates_.size() < kMaxTemplates) {
      templates_.push_back({std::string(stock->head), std::string(stock->tail), rank_shapes,
                            static_cast<uint32_t>(templates_.size())});
    }
  }
  if (stock->name_part.size() + stock->timing_part.size() > 512) return;
  RankShapes& shapes = rank_shapes_[rank_shapes];
  Shape shape;
  shape.name_part = stock->name_part;
  shape.timing_part = stock->timing_part;
  shape.is_p2p = stock->is_p2p;
  shape.message_bytes = *series.key.message_bytes;
  shape.peer = series.key.peer ? static_cast<uint64_t>(*series.key.peer) : 0;
  shape.series = outcome.series;
  shape.next = static_cast<uint32_t>(shapes.shapes.size());
  shape.traffic_gb = series.traffic_bytes / 1e9;
  shape.bus_factor = series.bus_factor;
  for (const Shape& candidate : shapes.shapes) {
    if (candidate.series == shape.series && candidate.name_part == shape.name_part) return;
  }
  shapes.by_size.emplace(shape.message_bytes, static_cast<uint32_t>(shapes.shapes.size()));
  shapes.shapes.push_back(std::move(shape));
}

}  // namespace telltale::nccl_inspector
