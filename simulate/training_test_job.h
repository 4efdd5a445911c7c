#pragma once

// For tests of the training simulation: small jobs, and their files taken apart.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "simulate/training.h"

namespace telltale::simulate {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "telltale-simulate-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct Line {
  std::string text;
  std::string communicator;
  uint64_t rank = 0;
  uint64_t timestamp_us = 0;
  std::string kind;  // coll_perf, p2p_perf, dump_stats
  std::string function;
  uint64_t sequence = 0;
  uint64_t peer = 0;
  uint64_t message_bytes = 0;
  uint64_t exec_time_us = 0;
};

inline std::string Text(const std::string& line, const std::string& key) {
  const std::string marker = "\"" + key + "\":";
  size_t begin = line.find(marker);
  if (begin == std::string::npos) return "";
  begin += marker.size();
  const size_t quote = line[begin] == '"' ? 1 : 0;
  const size_t end = line.find_first_of(quote == 1 ? "\"" : ",}", begin + quote);
  return line.substr(begin + quote, end - begin - quote);
}

inline uint64_t Number(const std::string& line, const std::string& key) {
  const std::string text = Text(line, key);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

inline std::string Bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline std::vector<Line> LinesOf(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream in(text);
  for (Line line; std::getline(in, line.text);) {
    if (line.text.find("\"header\"") != std::string::npos) {
      line.communicator = Text(line.text, "comm_name");
      line.rank = Number(line.text, "rank");
      line.timestamp_us = Number(line.text, "dump_timestamp_us");
    }
    line.kind = "dump_stats";
    for (const std::string kind : {"coll", "p2p"}) {
      if (line.text.find("\"" + kind + "_perf\"") == std::string::npos) continue;
      line.kind = kind + "_perf";
      line.function = Text(line.text, kind);
      line.sequence = Number(line.text, kind + "_sn");
      line.peer = Number(line.text, "p2p_peer");
      line.message_bytes = Number(line.text, kind + "_msg_size_bytes");
      line.exec_time_us = Number(line.text, kind + "_exec_time_us");
    }
    lines.push_back(line);
  }
  return lines;
}

inline std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// File name (without folder) to content.
inline std::map<std::string, std::string> ContentsOf(const std::string& directory) {
  std::map<std::string, std::string> contents;
  for (const std::string& file : FilesIn(directory)) {
    contents[fs::path(file).filename()] = Bytes(file);
  }
  return contents;
}

// 16 ranks on 2 hosts, TP 8, DP 2: quick, and everything happens.
inline TrainingOptions SmallJob(const std::string& directory) {
  TrainingOptions options;
  options.ranks = 16;
  options.steps = 40;
  options.layers = 4;
  options.micro_batches = 2;
  options.directory = directory;
  options.threads = 1;
  return options;
}

inline void Inject(TrainingOptions& options, std::string_view text) {
  auto fault = ParseFault(text);
  ASSERT_TRUE(fault) << fault.error().message;
  options.faults.push_back(*fault);
}

inline TrainingSummary Simulate(const TrainingOptions& options) {
  auto summary = SimulateTraining(options);
  EXPECT_TRUE(summary) << summary.error().message;
  return summary ? *summary : TrainingSummary{};
}

}  // namespace telltale::simulate
