#include "readers/find_files.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

namespace telltale {
namespace {

namespace fs = std::filesystem;

FoundFile Describe(const fs::path& path, bool named_directly) {
  FoundFile file;
  file.path = path.string();
  file.named_directly = named_directly;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error || status.type() == fs::file_type::not_found) {
    file.error = error ? error.message() : "no such file or folder";
    return file;
  }
  const fs::path absolute = fs::weakly_canonical(path, error);
  file.absolute_path = (error ? path : absolute).string();
  file.folder = (error ? path : absolute).parent_path().string();
  file.is_regular = status.type() == fs::file_type::regular;
  if (file.is_regular) file.size_bytes = fs::file_size(path, error);
  if (error) file.error = error.message();
  return file;
}

void WalkFolder(const fs::path& folder, std::vector<FoundFile>& files) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  const auto add_failed = [&] {
    FoundFile failed;
    failed.path = folder.string();
    failed.error = error.message();
    files.push_back(std::move(failed));
  };
  fs::directory_iterator iterator(folder, error);
  while (!error && iterator != fs::directory_iterator()) {
    entries.push_back(*iterator);
    iterator.increment(error);
  }
  if (error) add_failed();
  std::sort(entries.begin(), entries.end());
  for (const fs::directory_entry& entry : entries) {
    if (entry.is_directory(error)) {
      if (!entry.is_symlink(error)) WalkFolder(entry.path(), files);
      continue;
    }
    // Pipes and sockets inside a folder would block; they are no logs. A link to nothing may be
    // one.
    if (!entry.is_regular_file(error) && entry.exists(error)) continue;
    files.push_back(Describe(entry.path(), false));
  }
}

}  // namespace

std::vector<FoundFile> FindFiles(const std::vector<std::string>& paths) {
  std::vector<FoundFile> files;
  for (const std::string& path : paths) {
    if (path == "-") {
      FoundFile input;
      input.path = path;
      input.absolute_path = path;
      input.folder = "standard input";
      input.is_regular = false;
      input.named_directly = true;
      files.push_back(std::move(input));
      continue;
    }
    std::error_code error;
    if (fs::is_directory(path, error)) {
      WalkFolder(path, files);
    } else {
      files.push_back(Describe(path, true));
    }
  }
  // The same file named twice is read once.
  std::unordered_set<std::string> seen;
  std::erase_if(files, [&](const FoundFile& file) {
    return !seen.insert(file.error.empty() ? file.absolute_path : file.path).second;
  });
  return files;
}

}  // namespace telltale
