#pragma once

namespace telltale {

// Of the store's file, as DuckDB's setting default_block_size takes it. Each table ends in a block
// of its own: at DuckDB's 256 KiB the small ones took a seventh of a store of 4 million records;
// below 128 KiB columns compress worse.
inline constexpr const char* kBlockBytes = "131072";

}  // namespace telltale
