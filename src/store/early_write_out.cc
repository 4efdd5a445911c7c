#include "store/early_write_out.h"

#include <chrono>

#include <fcntl.h>

namespace telltale {

EarlyWriteOut::EarlyWriteOut(int file) {
#ifdef __linux__
  if (file >= 0) thread_ = std::thread([this, file] { Run(file); });
#else
  (void)file;
#endif
}

EarlyWriteOut::~EarlyWriteOut() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

void EarlyWriteOut::Run(int file) {
#ifdef __linux__
  constexpr std::chrono::milliseconds kInterval(100);
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kInterval, [&] { return ended_; })) {
    // From what is in memory, without waiting for it.
    if (sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE) != 0) return;
  }
#else
  (void)file;
#endif
}

}  // namespace telltale
