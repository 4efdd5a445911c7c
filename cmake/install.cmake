# bin/telltale, and the bundled libduckdb.so in lib beside it. An installed DuckDB (DUCKDB_ROOT) stays
# where it is.

cmake_path(IS_PREFIX TELLTALE_BUNDLED_DUCKDB ${DUCKDB_LIBRARY} NORMALIZE duckdb_is_bundled)
if(duckdb_is_bundled)
  set_target_properties(telltale PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  install(FILES ${DUCKDB_LIBRARY} DESTINATION lib
          PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  install(FILES ${TELLTALE_BUNDLED_DUCKDB}/LICENSE DESTINATION share/doc/telltale
          RENAME LICENSE.duckdb)
else()
  cmake_path(GET DUCKDB_LIBRARY PARENT_PATH duckdb_folder)
  set_target_properties(telltale PROPERTIES INSTALL_RPATH ${duckdb_folder})
endif()

install(TARGETS telltale RUNTIME DESTINATION bin)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/telltale)
