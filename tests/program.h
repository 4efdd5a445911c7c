#pragma once

// For tests that use the program as a person does: it is run as its own process, and what it says,
// writes and returns is looked at.

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <gtest/gtest.h>
#include <simdjson.h>

namespace telltale::tests {

struct Outcome {
  int code = -1;   // exit status; -1 when a signal ended the process
  int signal = 0;  // that signal
  std::string out;
  std::string err;
};

struct Call {
  std::vector<std::string> arguments;
  std::string input;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string out_path;         // standard output goes to this file instead
  uint64_t max_file_bytes = 0;  // the process may write no larger file (RLIMIT_FSIZE)
};

Outcome Telltale(const Call& call);
inline Outcome Telltale(std::vector<std::string> arguments) {
  Call call;
  call.arguments = std::move(arguments);
  return Telltale(call);
}

// Runs beside the test until it is waited for.
class Running {
 public:
  explicit Running(const Call& call);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  pid_t pid() const { return pid_; }
  void Kill();
  Outcome Wait();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

// Opens a named pipe for writing as soon as a reader has opened it; -1 when none does so in 20 s.
int OpenPipe(const std::string& path);

// A folder that is removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, std::string_view bytes);
std::string GzipOf(std::string_view bytes);
std::string ZstdOf(std::string_view bytes);
std::string Replaced(std::string text, const std::string& from, const std::string& to);

// A valid JSON document with its parser.
class Json {
 public:
  explicit Json(const std::string& text);
  bool valid() const { return valid_; }
  simdjson::dom::element root() const { return root_; }
  // By JSON pointer: "/sources/0/rows". A test that asks for what is not there fails.
  uint64_t Number(const std::string& pointer) const;
  std::string Text(const std::string& pointer) const;
  size_t Size(const std::string& pointer) const;
  bool Has(const std::string& pointer) const;

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
  bool valid_ = false;
};

// A small training job, the same at every call; 16 files, some operations lost.
void SimulateSmallJob(const std::string& folder);
std::vector<std::string> FilesOf(const std::string& folder);

}  // namespace telltale::tests
