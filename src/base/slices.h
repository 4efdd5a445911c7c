#pragma once

// Work over many rows on several threads.

#include <algorithm>
#include <atomic>
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

// Calls work(i) for each i below `count`; each thread takes the next `at_once` of them when it is
// done, as some take longer than others.
template <typename Work>
void ForEachInTurn(size_t count, size_t threads, size_t at_once, const Work& work) {
  std::atomic<size_t> next = 0;
  const size_t workers = std::min(threads, count / at_once + 1);
  ForEachSlice(workers, workers, [&](size_t, size_t, size_t) {
    for (size_t begin = next.fetch_add(at_once); begin < count; begin = next.fetch_add(at_once)) {
      for (size_t i = begin; i < std::min(begin + at_once, count); ++i) work(i);
    }
  });
}

}  // namespace telltale
