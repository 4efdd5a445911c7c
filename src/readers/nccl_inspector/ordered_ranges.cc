#include "readers/nccl_inspector/ordered_ranges.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/byte_stream.h"
#include "base/line_window.h"
#include "readers/nccl_inspector/source_parser.h"

namespace telltale::nccl_inspector {
namespace {

// Ends a stream after `limit` bytes: the file may grow while it is read.
class LimitedStream : public ByteStream {
 public:
  LimitedStream(std::unique_ptr<ByteStream> source, uint64_t limit)
      : source_(std::move(source)), left_(limit) {}
  Result<size_t> Read(std::span<char> out) override {
    const size_t ask = std::min<uint64_t>(out.size(), left_);
    TELLTALE_ASSIGN(const size_t got, source_->Read(out.first(ask)));
    left_ -= got;
    return got;
  }

 private:
  std::unique_ptr<ByteStream> source_;
  uint64_t left_;
};

// The first cut point in `window` (which starts at `offset` of the file) that is at or behind
// `from`; npos when there is none. Lines that do not start with a header are skipped quickly.
size_t FindCutPoint(std::string_view window, uint64_t offset, uint64_t from,
                    const CutPoints& cut_points) {
  size_t at = 0;
  if (from > offset) {
    const size_t newline = window.find('\n', static_cast<size_t>(from - offset - 1));
    if (newline == std::string_view::npos) return std::string_view::npos;
    at = newline + 1;
  }
  while (at < window.size()) {
    size_t end = window.find('\n', at);
    if (end == std::string_view::npos) end = window.size();
    if (cut_points.IsCutPoint(window.substr(at, end - at))) return at;
    at = end + 1;
  }
  return std::string_view::npos;
}

// Parses from the first cut point at or behind `begin` (0: from the start) to the first at or
// behind `end`.
Result<SourceBuilder> ParseRange(const OrderedRangesOptions& options, const CutPoints& cut_points,
                                 uint64_t begin, uint64_t end) {
  // One byte earlier, so that a line that starts exactly at `begin` is seen to start there.
  const uint64_t start = begin > 0 ? begin - 1 : 0;
  TELLTALE_ASSIGN(std::unique_ptr<ByteStream> file, OpenFileAt(options.path, start));
  LimitedStream stream(std::move(file), options.size_bytes - start);
  LineWindow windows(stream, options.window_bytes, options.max_line_bytes);
  SourceParser parser;
  bool started = begin == 0;
  while (true) {
    TELLTALE_ASSIGN(std::string_view window, windows.Next());
    if (window.empty()) break;
    const uint64_t offset = start + windows.offset();
    if (windows.cut_line()) {
      if (started) parser.ParseWindow(window, true);
      continue;
    }
    size_t from = 0;
    if (!started) {
      from = FindCutPoint(window, offset, begin, cut_points);
      if (from == std::string_view::npos) {
        if (offset + window.size() >= end) {
          // The range before reads on to the cut point; none of this range's lines is its own
          // unless a cut point comes before `end`.
          break;
        }
        continue;
      }
      if (offset + from >= end) break;
      started = true;
    }
    size_t to = std::string_view::npos;
    if (offset + window.size() > end) to = FindCutPoint(window, offset, end, cut_points);
    const bool last = to != std::string_view::npos;
    if (!last) to = window.size();
    parser.ParseWindow(window.substr(from, to - from), false);
    if (last) break;
  }
  parser.FinishPart();
  return std::move(parser.builder());
}

}  // namespace

Status ParseOrderedRanges(const OrderedRangesOptions& options,
                          const std::function<Status(SourceBuilder&&)>& consume) {
  std::vector<char> head(size_t{64} << 10);
  {
    TELLTALE_ASSIGN(const std::unique_ptr<ByteStream> stream, OpenFileAt(options.path, 0));
    TELLTALE_ASSIGN(const size_t got, stream->Read(std::span(head)));
    head.resize(got);
  }
  const CutPoints cut_points(std::string_view(head.data(), head.size()));
  const uint64_t ranges =
      std::max<uint64_t>(1, (options.size_bytes + options.range_bytes - 1) / options.range_bytes);
  const uint64_t ahead = 2 * std::max(1u, options.threads);

  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint64_t, Result<SourceBuilder>> done;
  uint64_t next_range = 0;
  uint64_t consumed = 0;
  bool stop = false;

  const auto work = [&] {
    while (true) {
      uint64_t range = 0;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock,
                     [&] { return stop || next_range >= ranges || next_range < consumed + ahead; });
        if (stop || next_range >= ranges) return;
        range = next_range++;
      }
      const uint64_t begin = range * options.range_bytes;
      const uint64_t end = range + 1 == ranges ? UINT64_MAX : begin + options.range_bytes;
      Result<SourceBuilder> result = ParseRange(options, cut_points, begin, end);
      if (options.on_progress) {
        options.on_progress(std::min(end, options.size_bytes) - begin);
      }
      const std::scoped_lock lock(mutex);
      done.emplace(range, std::move(result));
      changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, options.threads); ++i) threads.emplace_back(work);

  Status status;
  while (status && consumed < ranges) {
    std::optional<Result<SourceBuilder>> result;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return done.contains(consumed); });
      result.emplace(std::move(done.at(consumed)));
      done.erase(consumed);
      ++consumed;
      changed.notify_all();
    }
    status = *result ? consume(std::move(**result)) : Status(tl::unexpected(result->error()));
  }
  {
    const std::scoped_lock lock(mutex);
    stop = true;
    changed.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

}  // namespace telltale::nccl_inspector
