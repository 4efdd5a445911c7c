#pragma once

// Time and peak memory of whole processes, for the programs of this folder.

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"

namespace telltale::bench {

struct Run {
  double seconds = 0;
  double peak_bytes = 0;
};

// Runs `work` in a child process of its own, so that time and peak memory are those of a whole
// process.
inline Run Measure(const std::function<void()>& work) {
  (void)std::fflush(stdout);  // or the child writes what is waiting there once more
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fmt::print(stderr, "bench: a measured process failed\n");
    std::exit(1);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return {elapsed.count(), static_cast<double>(usage.ru_maxrss) * 1024};
}

inline void Execute(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(1);
  execv(arguments[0], arguments.data());
  std::perror(arguments[0]);
  _exit(1);
}

[[noreturn]] inline void Die(const std::string& message) {
  fmt::print(stderr, "bench: {}\n", message);
  std::exit(1);
}

template <typename T>
T ValueOf(Result<T> result) {
  if (!result) Die(result.error().message);
  return std::move(result).value();
}

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

inline void RemoveStore(const std::string& file) {
  std::filesystem::remove(file);
  std::filesystem::remove(file + ".wal");
}

// Brings a file into the page cache.
inline void ReadWhole(const std::string& path) {
  std::vector<char> buffer(size_t{1} << 20);
  std::ifstream file(path, std::ios::binary);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
         file.gcount() > 0) {
  }
}

// Ours and the reference in turn, so that both see the same machine.
struct Comparison {
  std::vector<double> ours, reference, ratios;  // seconds; ratios of runs beside each other
  double peak_bytes = 0, reference_peak_bytes = 0;
};
struct Side {
  std::function<void()> prepare;  // not in the time
  std::function<void()> run;
};
inline Comparison Compare(int runs, int reference_runs, const Side& ours, const Side& reference) {
  Comparison comparison;
  for (int i = 0; i < std::max(runs, reference_runs); ++i) {
    if (i < runs) {
      ours.prepare();
      const Run run = Measure(ours.run);
      comparison.ours.push_back(run.seconds);
      comparison.peak_bytes = std::max(comparison.peak_bytes, run.peak_bytes);
    }
    if (i < reference_runs) {
      reference.prepare();
      const Run run = Measure(reference.run);
      comparison.reference.push_back(run.seconds);
      comparison.reference_peak_bytes = std::max(comparison.reference_peak_bytes, run.peak_bytes);
      if (i < runs) comparison.ratios.push_back(run.seconds / comparison.ours.back());
    }
  }
  return comparison;
}

// A row of build/bench.json; a figure of 0 is none.
inline void PrintRow(const std::string& name, double ours, double reference, double ratio,
                     const std::string& unit, const std::string& target,
                     const std::string& command) {
  const auto figure = [](double value, int digits) {
    return value > 0 ? fmt::format("{:.{}g}", value, digits) : "null";
  };
  fmt::print(R"({{"name":"{}","ours":{},"reference":{},"ratio":{},"unit":"{}",)"
             R"("target":"{}","command":"{}"}})"
             "\n",
             name, figure(ours, 4), figure(reference, 4), figure(ratio, 3), unit, target, command);
}

}  // namespace telltale::bench
