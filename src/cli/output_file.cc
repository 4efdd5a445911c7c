#include "cli/output_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <unistd.h>

#include "base/byte_stream.h"
#include "cli/command.h"

namespace telltale::cli {
namespace {

namespace fs = std::filesystem;

// Where a file that is complete can be put in place of `path`; empty: it must be written directly.
std::string DraftOf(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) return {};
  return fmt::format("{}.new-{}", path, getpid());
}

std::string ReadAll(const OpenedStream& opened, const std::string& path,
                    const std::function<Status(std::string_view)>& check) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::string text;
  while (true) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    const size_t got = ValueOrThrow(opened.bytes->Read(std::span(text).subspan(before)));
    text.resize(before + got);
    if (got == 0) break;
    if (before > 0 || !check) continue;
    const Status status = check(text);
    if (!status) throw CommandFailure(status.error().Within(path).message);
  }
  if (!opened.bytes->damage().empty()) {
    throw CommandFailure(fmt::format("{}: {}", path, opened.bytes->damage()));
  }
  return text;
}

}  // namespace

void WriteFile(const std::string& path, const std::function<Status(const FileWriter&)>& write) {
  const bool to_stdout = path == "-";
  std::error_code error;
  fs::path target = path;
  if (fs::is_symlink(target, error)) target = fs::weakly_canonical(target, error);
  const std::string draft = to_stdout ? std::string() : DraftOf(target.string());
  const std::string opened = draft.empty() ? target.string() : draft;
  std::FILE* const file = to_stdout ? stdout : std::fopen(opened.c_str(), "wb");
  const auto fail = [&] { return Fail("{}: {}", path, SystemErrorText(errno)); };
  if (file == nullptr) OkOrThrow(fail());
  Status status = write([&](std::string_view text) -> Status {
    if (std::fwrite(text.data(), 1, text.size(), file) == text.size()) return {};
    return fail();
  });
  if (to_stdout) return OkOrThrow(status);
  if (std::fclose(file) != 0 && status) status = fail();
  if (!draft.empty()) {
    if (status && std::rename(draft.c_str(), target.c_str()) != 0) status = fail();
    if (!status) (void)std::remove(draft.c_str());
  }
  OkOrThrow(status);
}

void RequireOtherFile(const std::string& out, const std::string& input) {
  std::error_code error;
  if (fs::equivalent(out, input, error) && !error) {
    throw CommandFailure(fmt::format("{}: what is read from would be overwritten", out));
  }
}

std::string ReadWholeFile(const std::string& path,
                          const std::function<Status(std::string_view head)>& check) {
  return ReadAll(ValueOrThrow(OpenByteStream(path)), path, check);
}

std::string ContentOf(std::string_view file) {
  return ReadAll(ValueOrThrow(Decompress(MemoryStream(std::span(file.data(), file.size())))),
                 "in memory", nullptr);
}

}  // namespace telltale::cli
