#pragma once

// The version of the schema in queries/schema, which the store names in telltale_store. It rises
// with every change that older programs, or older stores, cannot be used with.

namespace telltale {

constexpr int kSchemaVersion = 7;

}  // namespace telltale
