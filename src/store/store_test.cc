#include "store/store.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "store/file_format.h"

namespace telltale {
namespace {

namespace fs = std::filesystem;

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    path_ = folder_ + "/a.duckdb";
  }
  ~StoreTest() override { fs::remove_all(folder_); }

  static StoreOptions Writing(bool create = true) {
    StoreOptions options;
    options.access = Access::kReadWrite;
    options.create = create;
    return options;
  }

  // All files of the folder with their bytes.
  std::map<std::string, std::string> Contents() const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.is_regular_file()) contents[entry.path()] = BytesOf(entry.path());
    }
    return contents;
  }

  void MakeStore() const {
    const auto store = Store::Open(path_, Writing());
    ASSERT_TRUE(store) << store.error().message;
  }

  // A DuckDB file, not necessarily a store of ours.
  void RunIn(const std::string& path, const std::string& sql) const {
    DatabaseOptions options;
    options.access = Access::kReadWrite;
    const auto database = Database::Open(path, options);
    ASSERT_TRUE(database) << database.error().message;
    const auto connection = (*database)->Connect();
    ASSERT_TRUE(connection);
    const Status status = (*connection)->Run(sql);
    ASSERT_TRUE(status) << status.error().message;
  }

  // Opening `path` for reading and for writing fails with messages that have `text` in them, and
  // changes nothing.
  void ExpectRefused(const std::string& path, const std::string& text, bool create = true) const {
    const auto before = Contents();
    for (const StoreOptions& options : {StoreOptions(), Writing(false), Writing(create)}) {
      const auto store = Store::Open(path, options);
      ASSERT_FALSE(store);
      EXPECT_NE(store.error().message.find(text), std::string::npos) << store.error().message;
      EXPECT_NE(store.error().message.find(path), std::string::npos) << store.error().message;
    }
    EXPECT_TRUE(Contents() == before) << "files have changed";
  }

  std::string folder_ = testing::TempDir() + "telltale-store-XXXXXX";
  std::string path_;
};

// --- Making and opening ---

TEST_F(StoreTest, MakesAStoreAndOpensItAgain) {
  {
    const auto store = Store::Open(path_, Writing());
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ((*store)->path(), path_);
    EXPECT_EQ((*store)->NextId(Store::kRun), 0);
    EXPECT_EQ((*store)->NextId(Store::kRun), 1);
    EXPECT_EQ((*store)->NextId(Store::kSource), 0);
    const auto connection = (*store)->Connect();
    ASSERT_TRUE((*connection)->Run("INSERT INTO run VALUES (0, 'a', '/a'), (7, 'b', '/b')"));
    ASSERT_TRUE((*store)->Checkpoint());
  }
  EXPECT_EQ(Contents().size(), 1U) << "drafts or logs are left";
  const auto store = Store::Open(path_, Writing(false));
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->NextId(Store::kRun), 8);
  const auto connection = (*store)->Connect();
  EXPECT_EQ(*(*connection)->QueryInteger("SELECT schema_version FROM telltale_store"),
            kSchemaVersion);
  EXPECT_EQ(*(*connection)->QueryInteger("SELECT count(created_at) FROM telltale_store"), 1);
  const auto block_bytes =
      (*connection)->QueryInteger("SELECT block_size FROM pragma_database_size() LIMIT 1");
  EXPECT_EQ(fmt::format("{}", *block_bytes), kBlockBytes);
  // Later writers keep to what the file says of itself.
  const auto storage_version =
      (*connection)
          ->Query("SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal");
  EXPECT_TRUE(CellText(storage_version->rows.at(0).at(0)).starts_with(kStorageVersion));
}

TEST_F(StoreTest, ALinkToNothingMakesNoStore) {
  const std::string target = path_ + ".target";
  fs::create_symlink(target, path_);
  const auto store = Store::Open(path_, Writing(true));
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("is a link"), std::string::npos) << store.error().message;
  EXPECT_FALSE(fs::exists(target));
}

TEST_F(StoreTest, ReadingCannotWrite) {
  MakeStore();
  const auto before = Contents();
  {
    const auto store = Store::Open(path_, {});
    ASSERT_TRUE(store) << store.error().message;
    const auto connection = (*store)->Connect();
    EXPECT_FALSE((*connection)->Run("INSERT INTO run VALUES (0, 'a', '/a')"));
    EXPECT_FALSE((*connection)->Run("DROP TABLE run"));
  }
  EXPECT_TRUE(Contents() == before);
}

TEST_F(StoreTest, ManyMayReadAtOnce) {
  MakeStore();
  const auto first = Store::Open(path_, {});
  const auto second = Store::Open(path_, {});
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
}

// --- Errors ---

TEST_F(StoreTest, SaysThatThereIsNoStore) {
  for (const StoreOptions& options : {StoreOptions(), Writing(false)}) {
    const auto store = Store::Open(path_, options);
    ASSERT_FALSE(store);
    EXPECT_TRUE(store.error().message.starts_with("there is no store " + path_))
        << store.error().message;
  }
  EXPECT_TRUE(Contents().empty());
}

TEST_F(StoreTest, SaysThatAStoreCannotBeMade) {
  const std::string path = folder_ + "/nosuch/a.duckdb";
  const auto store = Store::Open(path, Writing());
  ASSERT_FALSE(store);
  EXPECT_TRUE(store.error().message.starts_with("a new store cannot be made at " + path + ": "))
      << store.error().message;
  EXPECT_TRUE(Contents().empty());
}

TEST_F(StoreTest, RefusesAFolder) {
  fs::create_directory(path_);
  ExpectRefused(path_, "is a folder, not a file");
}

TEST_F(StoreTest, RefusesAPipe) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectRefused(path_, "is not a regular file");
}

TEST_F(StoreTest, RefusesFilesThatAreNotDuckDb) {
  for (const std::string& text : {std::string(), std::string("x"), std::string("{\"header\":{}}\n"),
                                  std::string(5000, '\0')}) {
    std::ofstream(path_, std::ios::binary) << text;
    ExpectRefused(path_, "is not a Telltale store (not a DuckDB file); nothing was changed");
  }
}

TEST_F(StoreTest, RefusesAnothersDuckDbFile) {
  RunIn(path_, "CREATE TABLE t AS SELECT range AS i FROM range(10)");
  ExpectRefused(path_, "is a DuckDB file but not a Telltale store; nothing was changed");
}

TEST_F(StoreTest, RefusesANewerSchema) {
  MakeStore();
  RunIn(path_, "UPDATE telltale_store SET schema_version = 999");
  ExpectRefused(path_, "has schema 999, newer than this telltale knows");
}

TEST_F(StoreTest, RefusesAStoreWithoutASchemaVersion) {
  MakeStore();
  RunIn(path_, "DELETE FROM telltale_store");
  ExpectRefused(path_, "is damaged");
}

TEST_F(StoreTest, RefusesATruncatedStore) {
  MakeStore();
  const std::string whole = BytesOf(path_);
  for (const size_t size :
       {size_t{12}, size_t{100}, size_t{4096}, size_t{12288}, whole.size() / 2}) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    ExpectRefused(path_, path_);
  }
}

TEST_F(StoreTest, RefusesADamagedStore) {
  MakeStore();
  std::string bytes = BytesOf(path_);
  for (size_t at = 0; at < 12288; at += 4) bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
  std::copy_n("DUCK", 4, bytes.begin() + 8);
  std::ofstream(path_, std::ios::binary) << bytes;
  ExpectRefused(path_, "cannot be opened");
}

TEST_F(StoreTest, DoesNotMixTheLogOfALostStoreIntoANewOne) {
  std::ofstream(path_ + ".wal", std::ios::binary) << "a log";
  ExpectRefused(path_, "there is no store");
  const auto store = Store::Open(path_, Writing());
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find(path_ + ".wal is left"), std::string::npos);
}

// Runs `work` in another process, which holds the store until the returned pipe is closed.
class Holder {
 public:
  Holder(const std::string& path, const StoreOptions& options) {
    int ready[2];
    int release[2];
    if (pipe(ready) != 0 || pipe(release) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(release[1]);
      const auto store = Store::Open(path, options);
      char byte = store ? '+' : '-';
      (void)!write(ready[1], &byte, 1);
      (void)!read(release[0], &byte, 1);
      _exit(0);
    }
    close(ready[1]);
    close(release[0]);
    release_ = release[1];
    char byte = 0;
    (void)!read(ready[0], &byte, 1);
    close(ready[0]);
    EXPECT_EQ(byte, '+');
  }
  ~Holder() {
    close(release_);
    waitpid(pid_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int release_ = -1;
};

TEST_F(StoreTest, NamesTheProcessThatWrites) {
  MakeStore();
  const Holder holder(path_, Writing());
  ExpectRefused(path_, "is in use by process " + std::to_string(holder.pid()));
}

TEST_F(StoreTest, NamesTheProcessThatReads) {
  MakeStore();
  const Holder holder(path_, {});
  const auto before = Contents();
  const auto store = Store::Open(path_, Writing());
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("is in use by process " + std::to_string(holder.pid())),
            std::string::npos)
      << store.error().message;
  EXPECT_TRUE(Contents() == before);
  EXPECT_TRUE(Store::Open(path_, {})) << "readers may share";
}

TEST_F(StoreTest, TwoThatMakeAStoreAtOnceShareOne) {
  // The one that comes second must find the first one's store, never replace it.
  for (int round = 0; round < 5; ++round) {
    fs::remove(path_);
    int go[2];
    ASSERT_EQ(pipe(go), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        close(go[1]);
        char byte = 0;
        (void)!read(go[0], &byte, 1);
        for (int attempt = 0; attempt < 500; ++attempt) {
          auto store = Store::Open(path_, Writing());
          if (!store) {
            if (store.error().message.find("in use") == std::string::npos) {
              fmt::print(stderr, "{}\n", store.error().message);
              _exit(2);
            }
            usleep(10000);
            continue;
          }
          auto connection = (*store)->Connect();
          const int64_t id = (*store)->NextId(Store::kRun);
          const bool done =
              (*connection)
                  ->Run("INSERT INTO run VALUES (" + std::to_string(id) + ", 'x', 'x')")
                  .has_value();
          connection->reset();
          store->reset();
          _exit(done ? 0 : 3);
        }
        _exit(4);
      }
      children.push_back(child);
    }
    close(go[0]);
    close(go[1]);
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    const auto store = Store::Open(path_, {});
    ASSERT_TRUE(store) << store.error().message;
    const auto connection = (*store)->Connect();
    EXPECT_EQ(*(*connection)->QueryInteger("SELECT count(DISTINCT run) FROM run"), 4);
  }
}

// A file system that can be made read-only, on which permission bits bind root too.
class ReadOnlyStoreTest : public StoreTest {
 protected:
  ReadOnlyStoreTest() { mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=32m") == 0; }
  ~ReadOnlyStoreTest() override {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  bool MakeReadOnly() const {
    return mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0;
  }
  bool mounted_ = false;
};

TEST_F(ReadOnlyStoreTest, SaysThatAStoreCannotBeWritten) {
  if (!mounted_) GTEST_SKIP() << "not permitted to mount";
  MakeStore();
  ASSERT_TRUE(MakeReadOnly());
  const auto before = Contents();
  const auto writing = Store::Open(path_, Writing());
  ASSERT_FALSE(writing);
  EXPECT_EQ(writing.error().message,
            "store " + path_ + " cannot be written: Read-only file system");
  const auto reading = Store::Open(path_, {});
  EXPECT_TRUE(reading) << reading.error().message;
  EXPECT_TRUE(Contents() == before);
  const auto other = Store::Open(folder_ + "/b.duckdb", Writing());
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().message.starts_with("a new store cannot be made at "))
      << other.error().message;
}

// Somebody who may not do everything, in another process; 77 when that cannot be had.
int AsNobody(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0)) _exit(77);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(StoreTest, SaysWhichPermissionIsMissing) {
  MakeStore();
  fs::permissions(folder_, fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  fs::permissions(path_, fs::perms::owner_read | fs::perms::others_read);
  const auto before = Contents();
  const int code = AsNobody([&] {
    const auto writing = Store::Open(path_, Writing());
    if (writing || writing.error().message.find("cannot be") == std::string::npos) return 1;
    if (!Store::Open(path_, {})) return 2;
    const auto other = Store::Open(folder_ + "/b.duckdb", Writing());
    if (other || !other.error().message.starts_with("a new store cannot be made at ")) return 3;
    return 0;
  });
  EXPECT_TRUE(Contents() == before);
  fs::permissions(path_, fs::perms::none);
  const int closed = AsNobody([&] {
    const auto reading = Store::Open(path_, {});
    return !reading && reading.error().message.find("cannot be opened") != std::string::npos ? 0
                                                                                             : 1;
  });
  if (code == 77) GTEST_SKIP() << "root that cannot become another user";
  EXPECT_EQ(code, 0);
  EXPECT_EQ(closed, 0);
}

// --- What a killed process leaves ---

TEST_F(StoreTest, OpensForReadingBesideTheLogOfAKilledProcess) {
  MakeStore();
  const pid_t child = fork();
  if (child == 0) {
    const auto store = Store::Open(path_, Writing());
    const auto connection = (*store)->Connect();
    (void)(*connection)->Run("INSERT INTO run VALUES (3, 'kept', '/kept')");
    (void)(*connection)->Run("BEGIN; INSERT INTO run VALUES (4, 'open', '/open')");
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(fs::exists(path_ + ".wal"));
  const auto before = Contents();
  {
    const auto store = Store::Open(path_, {});
    ASSERT_TRUE(store) << store.error().message;
    const auto connection = (*store)->Connect();
    const auto names = (*connection)->Query("SELECT name FROM run");
    ASSERT_TRUE(names);
    ASSERT_EQ(names->rows.size(), 1U);
    EXPECT_EQ(CellText(names->rows[0][0]), "kept");
  }
  EXPECT_TRUE(Contents() == before) << "reading changes nothing";
  const auto store = Store::Open(path_, Writing());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->NextId(Store::kRun), 4);
}

TEST_F(StoreTest, ATruncatedLogLosesOnlyWhatItLost) {
  MakeStore();
  const pid_t child = fork();
  if (child == 0) {
    const auto store = Store::Open(path_, Writing());
    const auto connection = (*store)->Connect();
    for (int i = 0; i < 10; ++i) {
      (void)(*connection)->Run("INSERT INTO run VALUES (" + std::to_string(i) + ", 'x', 'x')");
    }
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  const std::string log = BytesOf(path_ + ".wal");
  ASSERT_GT(log.size(), 100U);
  for (size_t cut = 1; cut < 100; cut += 7) {
    std::ofstream(path_ + ".wal", std::ios::binary) << log.substr(0, log.size() - cut);
    const auto store = Store::Open(path_, {});
    ASSERT_TRUE(store) << "cut " << cut << ": " << store.error().message;
    const auto connection = (*store)->Connect();
    const int64_t rows = *(*connection)->QueryInteger("SELECT count(*) FROM run");
    EXPECT_GE(rows, 5);
    EXPECT_LE(rows, 10);
  }
}

}  // namespace
}  // namespace telltale
