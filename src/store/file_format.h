#pragma once

// Of the store's file: shared with the program that makes the empty store (cmake/empty_store.cc).

namespace telltale {

// The version of the schema in queries/schema, which the store names in telltale_store. It rises
// with every change with which older programs, or older stores, cannot be used.
inline constexpr int kSchemaVersion = 7;

// As DuckDB's setting default_block_size takes it. Each table ends in a block of its own: at
// DuckDB's 256 KiB the small ones took a seventh of a store of 4 million records; below 128 KiB
// columns compress worse.
inline constexpr const char* kBlockBytes = "131072";

// As DuckDB's setting storage_compatibility_version takes it: older DuckDBs do not open the file.
// Before this version every column of every table takes 3 KB for its number of distinct values:
// 3 MB of each store, and a fifth of the time to open it.
inline constexpr const char* kStorageVersion = "v1.2.0";

}  // namespace telltale
