#include "cli/output_file.h"

#include <cerrno>
#include <cstdio>

#include "base/byte_stream.h"
#include "cli/command.h"

namespace telltale::cli {

void WriteFile(const std::string& path, const std::function<Status(const FileWriter&)>& write) {
  const bool to_stdout = path == "-";
  const std::string draft = path + ".part";
  std::FILE* const file = to_stdout ? stdout : std::fopen(draft.c_str(), "wb");
  if (file == nullptr) throw CommandFailure(fmt::format("{}: {}", path, SystemErrorText(errno)));
  Status status = write([&](std::string_view text) -> Status {
    if (std::fwrite(text.data(), 1, text.size(), file) == text.size()) return {};
    return Fail("{}: {}", path, SystemErrorText(errno));
  });
  if (to_stdout) return OkOrThrow(status);
  if (std::fclose(file) != 0 && status) status = Fail("{}: {}", path, SystemErrorText(errno));
  if (status && std::rename(draft.c_str(), path.c_str()) != 0) {
    status = Fail("{}: {}", path, SystemErrorText(errno));
  }
  if (!status) (void)std::remove(draft.c_str());
  OkOrThrow(status);
}

namespace {

std::string ReadAll(const OpenedStream& opened, const std::string& path) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::string text;
  while (true) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    const size_t got = ValueOrThrow(opened.bytes->Read(std::span(text).subspan(before)));
    text.resize(before + got);
    if (got == 0) break;
  }
  if (!opened.bytes->damage().empty()) {
    throw CommandFailure(fmt::format("{}: {}", path, opened.bytes->damage()));
  }
  return text;
}

}  // namespace

std::string ReadWholeFile(const std::string& path) {
  return ReadAll(ValueOrThrow(OpenByteStream(path)), path);
}

std::string ContentOf(std::string_view file) {
  return ReadAll(ValueOrThrow(Decompress(MemoryStream(std::span(file.data(), file.size())))),
                 "in memory");
}

}  // namespace telltale::cli
