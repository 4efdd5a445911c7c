#pragma once

// Work over many rows on several threads.

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace telltale {

// Cuts [0, count) into one slice a thread, and calls work(slice, begin, end) for each, all at once.
template <typename Work>
void ForEachSlice(size_t count, size_t threads, const Work& work) {
  const size_t slices = std::max<size_t>(1, std::min(count, threads));
  const auto border = [&](size_t slice) {
    return count / slices * slice + std::min(slice, count % slices);
  };
  std::vector<std::thread> others;
  for (size_t slice = 1; slice < slices; ++slice) {
    others.emplace_back([&, slice] { work(slice, border(slice), border(slice + 1)); });
  }
  work(0, border(0), border(1));
  for (std::thread& other : others) other.join();
}

}  // namespace telltale
