#pragma once

// Has the kernel write a growing file to its disk from the beginning on, instead of all at once
// when it is synced: hundreds of megabytes then cost a second that nothing else fills. Nothing is
// promised by it; where the system cannot do that, nothing happens.

#include <condition_variable>
#include <mutex>
#include <thread>

namespace telltale {

class EarlyWriteOut {
 public:
  // `file`: an open file; -1 for none. It must stay open meanwhile.
  explicit EarlyWriteOut(int file);
  ~EarlyWriteOut();
  EarlyWriteOut(const EarlyWriteOut&) = delete;
  EarlyWriteOut& operator=(const EarlyWriteOut&) = delete;

 private:
  void Run(int file);
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace telltale
