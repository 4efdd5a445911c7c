// Makes a store without rows and writes it as C++ source (src/store/empty_store.h). Run by the
// build.
//
//   empty_store OUTPUT VERSION SCHEMA…     schema files in the order of their numbers

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <duckdb.h>
#include <zstd.h>

#include "store/file_format.h"

namespace {

[[noreturn]] void Fail(const std::string& text) {
  (void)std::fprintf(stderr, "empty_store: %s\n", text.c_str());
  std::exit(1);
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file) Fail("cannot read " + path);
  return content;
}

void Run(duckdb_connection connection, const std::string& sql) {
  duckdb_result result{};
  if (duckdb_query(connection, sql.c_str(), &result) == DuckDBError) {
    Fail(duckdb_result_error(&result));
  }
  duckdb_destroy_result(&result);
}

void MakeStore(const std::string& path, const std::string& version,
               const std::vector<std::string>& schemas) {
  duckdb_config config = nullptr;
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  char* error = nullptr;
  bool is_set = duckdb_create_config(&config) != DuckDBError;
  constexpr std::array<std::array<const char*, 2>, 5> kSettings = {
      {{"threads", "1"},
       {"default_block_size", telltale::kBlockBytes},
       {"storage_compatibility_version", telltale::kStorageVersion},
       {"autoinstall_known_extensions", "false"},
       {"autoload_known_extensions", "false"}}};
  for (const auto& [name, value] : kSettings) {
    is_set = is_set && duckdb_set_config(config, name, value) != DuckDBError;
  }
  if (!is_set) Fail("DuckDB does not take the settings");
  if (duckdb_open_ext(path.c_str(), &database, config, &error) == DuckDBError) Fail(error);
  duckdb_destroy_config(&config);
  if (duckdb_connect(database, &connection) == DuckDBError) Fail("DuckDB gives no connection");
  Run(connection,
      "CREATE TABLE telltale_store (schema_version INTEGER, created_by VARCHAR, "
      "created_at TIMESTAMP)");
  for (const std::string& schema : schemas) Run(connection, ContentOf(schema));
  Run(connection, "INSERT INTO telltale_store VALUES (" + std::to_string(telltale::kSchemaVersion) +
                      ", 'telltale " + version + "', NULL)");
  Run(connection, "CHECKPOINT");
  duckdb_disconnect(&connection);
  duckdb_close(&database);
}

std::string Compressed(const std::string& bytes) {
  constexpr int kLevel = 19;
  std::string compressed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(compressed.data(), compressed.size(), bytes.data(),
                                    bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0) Fail(ZSTD_getErrorName(size));
  compressed.resize(size);
  return compressed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) Fail("usage: empty_store OUTPUT VERSION SCHEMA…");
  const std::string output = argv[1];
  const std::string path = output + ".duckdb";
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".wal");
  MakeStore(path, argv[2], {argv + 3, argv + argc});
  const std::string bytes = ContentOf(path);
  std::string text =
      "// Generated from queries/schema/ by cmake/empty_store.cc.\n\n"
      "#include \"store/empty_store.h\"\n\nnamespace telltale {\nnamespace {\n\n"
      "constexpr unsigned char kBytes[] = {";
  size_t column = 0;
  for (const char byte : Compressed(bytes)) {
    text += column++ % 20 == 0 ? "\n    " : " ";
    text += std::to_string(static_cast<unsigned char>(byte)) + ",";
  }
  text += "\n};\n\n}  // namespace\n\nEmptyStore EmbeddedEmptyStore() { return {kBytes, " +
          std::to_string(bytes.size()) + "}; }\n\n}  // namespace telltale\n";
  std::ofstream(output, std::ios::binary) << text;
  std::filesystem::remove(path);
  return 0;
}
