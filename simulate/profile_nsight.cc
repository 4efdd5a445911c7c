// A simulated profile as `nsys export --type sqlite` writes it, with the tables that matter here.

#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <sqlite3.h>

#include "simulate/profile.h"
#include "simulate/profile_program.h"

namespace telltale::simulate {
namespace {

constexpr int64_t kGlobalPid = (int64_t{1} << 48) | (int64_t{111} << 24);
constexpr int64_t kGlobalTid = kGlobalPid | 111;

constexpr const char* kTables =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0'), "
    "('EXPORT_PRODUCT_VERSION', '2026.2.1.210');"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014975716426);"
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, "
    "rangeId "
    "INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, "
    "textId "
    "INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, "
    "uint32Value "
    "INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData "
    "TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, "
    "globalTid "
    "INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, "
    "deviceId INTEGER, "
    "contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid "
    "INTEGER, "
    "demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX "
    "INTEGER, "
    "blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER, staticSharedMemory INTEGER, "
    "dynamicSharedMemory INTEGER, graphNodeId INTEGER);";

class ExportWriter {
 public:
  explicit ExportWriter(const std::string& path) : path_(path) {
    (void)std::remove(path.c_str());
    failed_ = sqlite3_open(path.c_str(), &handle_) != SQLITE_OK;
  }
  ~ExportWriter() {
    for (sqlite3_stmt* statement : {range_, call_, kernel_}) sqlite3_finalize(statement);
    sqlite3_close(handle_);
  }
  ExportWriter(const ExportWriter&) = delete;
  ExportWriter& operator=(const ExportWriter&) = delete;

  Status Begin() {
    TELLTALE_TRY(Run(kTables));
    TELLTALE_TRY(
        Run(fmt::format("INSERT INTO PROCESSES VALUES ({}, 111, 'python3'); BEGIN", kGlobalPid)));
    TELLTALE_TRY(
        Prepare("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, "
                "domainId) VALUES (?, ?, 59, ?, ?, 0)",
                range_));
    TELLTALE_TRY(Prepare(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0, NULL)", call_));
    return Prepare(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, NULL, ?, ?, ?, ?, ?, 132, 1, "
        "1, "
        "512, 1, 1, 40, 0, 400, NULL)",
        kernel_);
  }

  Status Range(const ProfileEvent& event, const std::string& text) {
    sqlite3_bind_int64(range_, 1, event.start_ns);
    sqlite3_bind_int64(range_, 2, event.start_ns + event.duration_ns);
    sqlite3_bind_text(range_, 3, text.c_str(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    sqlite3_bind_int64(range_, 4, kGlobalTid);
    return Step(range_);
  }
  Status Call(const ProfileEvent& event) {
    sqlite3_bind_int64(call_, 1, event.start_ns);
    sqlite3_bind_int64(call_, 2, event.start_ns + event.duration_ns);
    sqlite3_bind_int64(call_, 3, kGlobalTid);
    sqlite3_bind_int64(call_, 4, static_cast<int64_t>(event.number));
    sqlite3_bind_int64(call_, 5, IdOf(*event.name + "_v7000"));
    return Step(call_);
  }
  Status Kernel(const ProfileEvent& event) {
    sqlite3_bind_int64(kernel_, 1, event.start_ns);
    sqlite3_bind_int64(kernel_, 2, event.start_ns + event.duration_ns);
    sqlite3_bind_int64(kernel_, 3, event.stream);
    sqlite3_bind_int64(kernel_, 4, static_cast<int64_t>(event.number));
    sqlite3_bind_int64(kernel_, 5, kGlobalPid);
    sqlite3_bind_int64(kernel_, 6, IdOf(*event.name));
    sqlite3_bind_int64(kernel_, 7, IdOf(*event.name));
    return Step(kernel_);
  }

  Status End() {
    for (const auto& [text, id] : strings_) {
      TELLTALE_TRY(Run(fmt::format("INSERT INTO StringIds VALUES ({}, '{}')", id, text)));
    }
    return Run("COMMIT");
  }

 private:
  int64_t IdOf(const std::string& text) {
    return strings_.try_emplace(text, static_cast<int64_t>(strings_.size() + 1)).first->second;
  }
  Status Failure() const { return Fail("{}: {}", path_, sqlite3_errmsg(handle_)); }
  Status Run(const std::string& sql) {
    if (failed_ || sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      return Failure();
    }
    return {};
  }
  Status Prepare(const char* sql, sqlite3_stmt*& statement) {
    if (sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr) != SQLITE_OK) return Failure();
    return {};
  }
  Status Step(sqlite3_stmt* statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) return Failure();
    sqlite3_reset(statement);
    return {};
  }

  std::string path_;
  sqlite3* handle_ = nullptr;
  sqlite3_stmt* range_ = nullptr;
  sqlite3_stmt* call_ = nullptr;
  sqlite3_stmt* kernel_ = nullptr;
  std::map<std::string, int64_t> strings_;
  bool failed_ = false;
};

}  // namespace

Result<ProfileCounts> WriteNsightExport(const std::string& path, const ProfileOptions& options) {
  ExportWriter writer(path);
  TELLTALE_TRY(writer.Begin());
  ProfileCounts counts;
  ProfileProgram program(options);
  for (uint32_t step = 0;
       options.target_ranges > 0 ? counts.ranges < options.target_ranges : step < options.steps;
       ++step) {
    for (const ProfileEvent& event : program.NextStep()) {
      switch (event.kind) {
        case ProfileKind::kCall:
          TELLTALE_TRY(writer.Call(event));
          ++counts.calls;
          break;
        case ProfileKind::kKernel:
          TELLTALE_TRY(writer.Kernel(event));
          ++counts.kernels;
          break;
        case ProfileKind::kOperator:
          TELLTALE_TRY(
              writer.Range(event, fmt::format("{}, op_id = {}", *event.name, event.number)));
          ++counts.ranges;
          break;
        default:
          TELLTALE_TRY(writer.Range(event, event.kind == ProfileKind::kAnnotation
                                               ? fmt::format("{}#{}", *event.name, event.step)
                                               : *event.name));
          ++counts.ranges;
      }
    }
  }
  TELLTALE_TRY(writer.End());
  return counts;
}

}  // namespace telltale::simulate
