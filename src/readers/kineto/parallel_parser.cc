#include "readers/kineto/parallel_parser.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace telltale::kineto {
namespace {

void ParseWindow(EventParser& parser, const EventWindow& window) {
  uint64_t position = window.first_position;
  for (const ElementBounds& element : window.elements) {
    parser.Parse({window.bytes.data() + element.begin, element.end - element.begin}, position++);
  }
}

// Windows on their way to the parsers and, used, back; holds a few only.
class WindowQueue {
 public:
  explicit WindowQueue(size_t capacity) : capacity_(capacity) {}
  void Put(EventWindow window) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return windows_.size() < capacity_; });
    windows_.push_back(std::move(window));
    changed_.notify_all();
  }
  void Close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::optional<EventWindow> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !windows_.empty(); });
    if (windows_.empty()) return {};
    EventWindow window = std::move(windows_.front());
    windows_.pop_front();
    changed_.notify_all();
    return window;
  }
  void GiveBack(EventWindow window) {
    const std::scoped_lock lock(mutex_);
    used_.push_back(std::move(window));
  }
  // A used window, or a new one.
  EventWindow Empty() {
    const std::scoped_lock lock(mutex_);
    if (used_.empty()) return {};
    EventWindow window = std::move(used_.back());
    used_.pop_back();
    return window;
  }

 private:
  size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<EventWindow> windows_;
  std::vector<EventWindow> used_;
  bool closed_ = false;
};

}  // namespace

Result<std::vector<TracePart>> ParseEvents(TraceSplitter& splitter, unsigned threads,
                                           const std::function<void()>& on_window) {
  std::vector<TracePart> parts(threads > 1 ? threads : 1);
  if (threads <= 1) {
    EventParser parser(parts[0]);
    EventWindow window;
    while (true) {
      TELLTALE_ASSIGN(const bool more, splitter.Next(window));
      if (!more) return parts;
      ParseWindow(parser, window);
      on_window();
    }
  }
  WindowQueue queue(size_t{2} * threads);
  std::vector<std::thread> parsers;
  for (TracePart& part : parts) {
    parsers.emplace_back([&queue, &part] {
      EventParser parser(part);
      while (std::optional<EventWindow> window = queue.Take()) {
        ParseWindow(parser, *window);
        queue.GiveBack(std::move(*window));
      }
    });
  }
  const auto read = [&]() -> Status {
    while (true) {
      EventWindow window = queue.Empty();
      TELLTALE_ASSIGN(const bool more, splitter.Next(window));
      if (!more) return {};
      queue.Put(std::move(window));
      on_window();
    }
  };
  const Status status = read();
  queue.Close();
  for (std::thread& parser : parsers) parser.join();
  if (!status) return tl::unexpected(status.error());
  return parts;
}

}  // namespace telltale::kineto
