#include "store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <regex>

#include <zstd.h>

#include "store/busbw_summary.h"
#include "store/empty_store.h"

namespace telltale {
namespace {

namespace fs = std::filesystem;

bool IsDuckDbFile(const std::string& path) {
  // DuckDB: 8 bytes of checksum, then the magic bytes.
  char head[12] = {};
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return true;  // the error of opening says more
  const size_t got = std::fread(head, 1, sizeof head, file);
  (void)std::fclose(file);
  return got == sizeof head && std::string_view(head + 8, 4) == "DUCK";
}

Error OpenError(const std::string& path, const Error& error) {
  std::smatch match;
  static const std::regex lock(R"(Conflicting lock is held in (.*?)\(PID (\d+)\))");
  if (std::regex_search(error.message, match, lock)) {
    return Error{fmt::format(
        "store {} is in use by process {} ({}); try again when it is done, or name another store "
        "with --store",
        path, match[2].str(), match[1].str().empty() ? "unknown" : match[1].str())};
  }
  if (error.message.find("Could not set lock") != std::string::npos) {
    return Error{
        fmt::format("store {} is in use by another process; try again when it is done", path)};
  }
  return Error{fmt::format("store {} cannot be opened: {}", path, error.message)};
}

DatabaseOptions DatabaseOptionsFor(const StoreOptions& options) {
  return {options.access, options.threads, options.memory_limit, options.external_access};
}

// Renames without replacing; returns the error number, 0 for none.
int MoveIntoPlace(const std::string& draft, const std::string& path) {
  if (renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // File systems that cannot do this, such as NFS, can link.
  if (link(draft.c_str(), path.c_str()) != 0) return errno;
  (void)unlink(draft.c_str());
  return 0;
}

// The file is not told to be on disk yet: an ingest that writes to it does that.
Status WriteEmptyStore(const std::string& path) {
  const EmptyStore store = EmbeddedEmptyStore();
  std::string bytes(store.size, '\0');
  if (ZSTD_decompress(bytes.data(), bytes.size(), store.compressed.data(),
                      store.compressed.size()) != bytes.size()) {
    return Fail("this program is damaged");
  }
  std::FILE* file = std::fopen(path.c_str(), "wbx");
  if (file == nullptr) return Fail("{}", SystemErrorText(errno));
  const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int error = errno;
  if (std::fclose(file) != 0 || !is_written) {
    return Fail("{}", SystemErrorText(is_written ? errno : error));
  }
  return {};
}

// A new store is made under another name and moved into place, so that a kill leaves no half store.
// False when another process was faster.
Result<bool> CreateStore(const std::string& path) {
  const std::string draft = fmt::format("{}.new-{}", path, getpid());
  const auto remove_draft = [&] {
    std::error_code ignored;
    fs::remove(draft, ignored);
  };
  remove_draft();
  if (const Status status = WriteEmptyStore(draft); !status) {
    remove_draft();
    return Fail("a new store cannot be made at {}: {}", path, status.error().message);
  }
  const int error = MoveIntoPlace(draft, path);
  if (error == 0) return true;
  remove_draft();
  if (error == EEXIST) return false;
  return Fail("a new store cannot be made at {}: {}", path, SystemErrorText(error));
}

}  // namespace

Result<std::unique_ptr<Store>> Store::Open(const std::string& path, const StoreOptions& options) {
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return Fail("store {} is a folder, not a file", path);
  if (exists && !S_ISREG(status.st_mode)) return Fail("store {} is not a regular file", path);
  const bool writes = options.access == Access::kReadWrite;
  bool is_new = false;
  if (!exists) {
    if (!options.create) {
      return Fail(
          "there is no store {}; make one with `telltale ingest PATH…`, or name it with --store",
          path);
    }
    if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
      return Fail(
          "store {} is a link to a file that is not there; make that file's folder, or name "
          "the file itself",
          path);
    }
    // DuckDB would write what is in the old store's log into the new one. A log whose store is
    // there now belongs to one that another process has made meanwhile.
    if (stat((path + ".wal").c_str(), &status) == 0 && stat(path.c_str(), &status) != 0) {
      return Fail(
          "there is no store {0}, but its log {0}.wal is left; put the store back, or remove the "
          "log",
          path);
    }
    TELLTALE_ASSIGN(is_new, CreateStore(path));
  } else if (!IsDuckDbFile(path)) {
    return Fail("{} is not a Telltale store (not a DuckDB file); nothing was changed", path);
  } else if (writes && access(path.c_str(), W_OK) != 0) {
    return Fail("store {} cannot be written: {}", path, SystemErrorText(errno));
  }
  auto database = Database::Open(path, DatabaseOptionsFor(options));
  if (!database) return tl::unexpected(OpenError(path, database.error()));
  std::unique_ptr<Store> store(new Store(path, std::move(database).value()));
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store->Connect());
  TELLTALE_TRY(RegisterBusbwSummary(*connection));
  if (writes) store->file_.handle = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (is_new) {
    TELLTALE_TRY(connection->Run("UPDATE telltale_store SET created_at = now()::TIMESTAMP"));
    return store;
  }
  TELLTALE_TRY(store->CheckSchema());
  if (writes) TELLTALE_TRY(store->FindNextIds());
  return store;
}

Store::File::~File() {
  if (handle >= 0) (void)close(handle);
}

Status Store::CheckSchema() {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, Connect());
  const auto version =
      connection->QueryInteger("SELECT max(schema_version) FROM main.telltale_store");
  if (!version) {
    return Fail("{} is a DuckDB file but not a Telltale store; nothing was changed", path_);
  }
  if (*version < 1) return Fail("store {} does not say which schema it has: it is damaged", path_);
  if (*version > kSchemaVersion) {
    return Fail("store {} has schema {}, newer than this telltale knows ({}); use a newer telltale",
                path_, *version, kSchemaVersion);
  }
  if (*version < kSchemaVersion) {
    // No release has written one; from the first release on, older schemas are brought forward
    // here.
    return Fail(
        "store {} has schema {} of a development version, this telltale needs {}; ingest the files "
        "again into a new store",
        path_, *version, kSchemaVersion);
  }
  return {};
}

Status Store::FindNextIds() {
  static constexpr std::pair<const char*, const char*> kIds[kDimensions] = {
      {"run", "run"},
      {"source", "source"},
      {"process", "process"},
      {"communicator", "communicator"},
      {"communicator_rank", "communicator_rank"},
      {"series", "operation_series"},
      {"counter", "operation_counter"},
      {"trace_process", "trace_process"},
      {"track", "track"},
      {"name", "event_name"},
      {"shape", "launch_shape"},
      {"log_process", "log_process"},
      {"location", "log_location"},
      {"template", "log_template"},
      {"log_event", "log_event"},
      {"series", "metric_series"},
      {"step", "step"},
      {"request", "request"}};
  std::string sql = "SELECT ";
  for (const auto& [column, table] : kIds) {
    sql += fmt::format("(SELECT coalesce(max({}) + 1, 0) FROM {})::BIGINT, ", column, table);
  }
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, Connect());
  TELLTALE_ASSIGN(const Table table, connection->Query(sql));
  for (size_t i = 0; i < kDimensions; ++i) next_id_[i] = std::get<int64_t>(table.rows[0][i]);
  return {};
}

Status Store::Checkpoint() {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, Connect());
  return connection->Run("CHECKPOINT");
}

}  // namespace telltale
