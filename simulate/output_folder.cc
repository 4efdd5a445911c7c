#include "simulate/output_folder.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "simulate/log_file.h"

namespace telltale::simulate {

namespace fs = std::filesystem;

Status PrepareDirectory(const std::string& directory, bool force) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Fail("cannot make the directory {}: {}", directory, error.message());
  const bool is_empty = fs::is_empty(directory, error);
  if (error) return Fail("cannot read the directory {}: {}", directory, error.message());
  if (!is_empty && !force) {
    return Fail("{} is not empty; choose another directory, or force to write among its files",
                directory);
  }
  return {};
}

Result<std::string> TruthPath(const std::string& directory, const std::string& truth_path) {
  std::error_code error;
  const fs::path folder = fs::canonical(directory, error);
  if (error) return Fail("cannot read the directory {}: {}", directory, error.message());
  if (truth_path.empty()) {
    fs::path named = fs::path(directory).lexically_normal();
    if (!named.has_filename()) named = named.parent_path();
    if (named.filename() == "." || named.filename() == "..") named = folder;
    return named.string() + ".truth.json";
  }
  const fs::path truth = fs::weakly_canonical(fs::absolute(truth_path), error);
  if (error) return Fail("cannot find the folder of {}: {}", truth_path, error.message());
  const auto inside = std::mismatch(folder.begin(), folder.end(), truth.begin(), truth.end());
  if (inside.first == folder.end()) {
    return Fail("the truth must not lie among the files in {}", directory);
  }
  return truth_path;
}

Status WriteText(const std::string& path, std::string_view text) {
  LogFile file(path, LogFile::Kind::kPlain);
  TELLTALE_TRY(file.Create());
  return file.Append(text);
}

}  // namespace telltale::simulate
