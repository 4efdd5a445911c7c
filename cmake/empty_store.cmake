# Builds a store without rows into the library (src/store/empty_store.h): from the files of
# queries/schema, by a program of its own.

function(telltale_embed_empty_store output)
  list(FILTER ARGN INCLUDE REGEX "/schema/")
  list(SORT ARGN)
  add_executable(empty_store ${PROJECT_SOURCE_DIR}/cmake/empty_store.cc)
  target_include_directories(empty_store PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(empty_store PRIVATE telltale_options telltale_dependencies)
  add_custom_command(
    OUTPUT ${output}
    COMMAND empty_store ${output} ${PROJECT_VERSION} ${ARGN}
    DEPENDS empty_store ${ARGN}
    COMMENT "Making an empty store"
    VERBATIM)
endfunction()
