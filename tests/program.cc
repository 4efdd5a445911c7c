#include "tests/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <zlib.h>
#include <zstd.h>

#include "simulate/training.h"

namespace telltale::tests {
namespace {

namespace fs = std::filesystem;

// A file without a name.
int TemporaryFile() {
  std::string path = testing::TempDir() + "telltale-io-XXXXXX";
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) std::abort();
  unlink(path.c_str());
  return descriptor;
}

std::string TakeAll(int descriptor) {
  std::string text;
  char buffer[4096];
  off_t at = 0;
  while (true) {
    const ssize_t got = pread(descriptor, buffer, sizeof buffer, at);
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
    at += got;
  }
  close(descriptor);
  return text;
}

[[noreturn]] void Become(const Call& call, int in, int out, int err) {
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const char* name : {"TELLTALE_STORE", "NO_COLOR"}) unsetenv(name);
  for (const auto& [name, value] : call.environment) setenv(name.c_str(), value.c_str(), 1);
  if (call.max_file_bytes > 0) {
    const rlimit limit = {call.max_file_bytes, call.max_file_bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::vector<char*> arguments = {const_cast<char*>(TELLTALE_PROGRAM)};
  for (const std::string& argument : call.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execv(TELLTALE_PROGRAM, arguments.data());
  _exit(127);
}

}  // namespace

Running::Running(const Call& call) {
  const int in = TemporaryFile();
  if (write(in, call.input.data(), call.input.size()) < 0) std::abort();
  lseek(in, 0, SEEK_SET);
  out_ = call.out_path.empty() ? TemporaryFile()
                               : open(call.out_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  err_ = TemporaryFile();
  pid_ = fork();
  if (pid_ == 0) Become(call, in, out_, err_);
  close(in);
}

Running::~Running() {
  if (pid_ <= 0) return;
  Kill();
  (void)Wait();
}

void Running::Kill() { kill(pid_, SIGKILL); }

Outcome Running::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  Outcome outcome;
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.out = TakeAll(out_);
  outcome.err = TakeAll(err_);
  return outcome;
}

int OpenPipe(const std::string& path) {
  for (int i = 0; i < 2000; ++i) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor >= 0) {
      fcntl(descriptor, F_SETFL, 0);
      return descriptor;
    }
    usleep(10'000);
  }
  ADD_FAILURE() << "nobody reads " << path;
  return -1;
}

Outcome Telltale(const Call& call) { return Running(call).Wait(); }

Folder::Folder() : path_(testing::TempDir() + "telltale-test-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) std::abort();
  path_ = fs::canonical(path_);
}
Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteFile(const std::string& path, std::string_view bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  EXPECT_TRUE(file.flush()) << path;
}

std::string GzipOf(std::string_view bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string ZstdOf(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

Json::Json(const std::string& text) {
  const auto error = parser_.parse(text).get(root_);
  valid_ = error == simdjson::SUCCESS;
  EXPECT_TRUE(valid_) << simdjson::error_message(error) << ": " << text.substr(0, 300);
}

uint64_t Json::Number(const std::string& pointer) const {
  uint64_t number = 0;
  const auto error = root_.at_pointer(pointer).get(number);
  EXPECT_EQ(error, simdjson::SUCCESS) << pointer;
  return number;
}

std::string Json::Text(const std::string& pointer) const {
  std::string_view text;
  const auto error = root_.at_pointer(pointer).get(text);
  EXPECT_EQ(error, simdjson::SUCCESS) << pointer;
  return std::string(text);
}

size_t Json::Size(const std::string& pointer) const {
  simdjson::dom::array array;
  const auto error = root_.at_pointer(pointer).get(array);
  EXPECT_EQ(error, simdjson::SUCCESS) << pointer;
  return error == simdjson::SUCCESS ? array.size() : 0;
}

bool Json::Has(const std::string& pointer) const {
  return root_.at_pointer(pointer).error() == simdjson::SUCCESS;
}

void SimulateSmallJob(const std::string& folder) {
  simulate::TrainingOptions options;
  options.ranks = 16;
  options.steps = 10;
  options.layers = 4;
  options.micro_batches = 2;
  options.seed = 5;
  options.threads = 1;
  options.directory = folder;
  auto fault = simulate::ParseFault("ring-loss:ring=16");
  ASSERT_TRUE(fault);
  options.faults.push_back(*fault);
  const auto summary = simulate::SimulateTraining(options);
  ASSERT_TRUE(summary) << summary.error().message;
}

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace telltale::tests
