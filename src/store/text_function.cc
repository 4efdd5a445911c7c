#include "store/text_function.h"

#include <array>

#include <duckdb.h>

namespace telltale {
namespace {

struct Texts {
  duckdb_string_t* data;
  uint64_t* validity;

  explicit Texts(duckdb_vector vector)
      : data(static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector))),
        validity(duckdb_vector_get_validity(vector)) {}
  bool IsNull(idx_t row) const {
    return validity != nullptr && !duckdb_validity_row_is_valid(validity, row);
  }
  std::string_view operator[](idx_t row) const {
    return {duckdb_string_t_data(&data[row]), duckdb_string_t_length(data[row])};
  }
};

void Call(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  const auto function =
      *static_cast<const TextFunction*>(duckdb_scalar_function_get_extra_info(info));
  const idx_t rows = duckdb_data_chunk_get_size(input);
  const Texts first(duckdb_data_chunk_get_vector(input, 0));
  const Texts second(duckdb_data_chunk_get_vector(input, 1));
  auto* const entries = static_cast<duckdb_list_entry*>(duckdb_vector_get_data(output));
  const duckdb_vector values = duckdb_list_vector_get_child(output);
  idx_t size = 0;
  for (idx_t row = 0; row < rows; ++row) {
    entries[row] = {size, 0};
    if (first.IsNull(row) || second.IsNull(row)) {
      duckdb_vector_ensure_validity_writable(output);
      duckdb_validity_set_row_invalid(duckdb_vector_get_validity(output), row);
      continue;
    }
    const std::vector<std::string_view> parts = function(first[row], second[row]);
    duckdb_list_vector_reserve(output, size + parts.size());
    for (const std::string_view part : parts) {
      duckdb_vector_assign_string_element_len(values, size++, part.data(), part.size());
    }
    entries[row].length = parts.size();
  }
  duckdb_list_vector_set_size(output, size);
}

}  // namespace

Status RegisterTextFunction(Connection& connection, const char* name, TextFunction function) {
  duckdb_scalar_function scalar = duckdb_create_scalar_function();
  duckdb_scalar_function_set_name(scalar, name);
  duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
  duckdb_logical_type list = duckdb_create_list_type(text);
  duckdb_scalar_function_add_parameter(scalar, text);
  duckdb_scalar_function_add_parameter(scalar, text);
  duckdb_scalar_function_set_return_type(scalar, list);
  duckdb_destroy_logical_type(&list);
  duckdb_destroy_logical_type(&text);
  duckdb_scalar_function_set_extra_info(scalar, new TextFunction(function), [](void* extra) {
    delete static_cast<TextFunction*>(extra);
  });
  duckdb_scalar_function_set_function(scalar, Call);
  const duckdb_state registered = duckdb_register_scalar_function(connection.handle(), scalar);
  duckdb_destroy_scalar_function(&scalar);
  if (registered == DuckDBError) return Fail("DuckDB does not take the function {}", name);
  return {};
}

}  // namespace telltale
