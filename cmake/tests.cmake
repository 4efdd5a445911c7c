# One program with all tests; ctest runs one process a suite. (One a test would spend most of its time
# loading the program.) The suites are asked from the program after each build.

find_package(GTest REQUIRED)

add_executable(telltale_tests ${test_sources})
target_link_libraries(telltale_tests PRIVATE telltale_cli telltale_simulate telltale_lib
                                             GTest::gtest_main GTest::gmock)
# For tests that read the repository's fixtures or run the program itself.
target_compile_definitions(telltale_tests PRIVATE
  TELLTALE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  TELLTALE_PROGRAM="$<TARGET_FILE:telltale>")
add_dependencies(telltale_tests telltale)

set(suites ${PROJECT_BINARY_DIR}/telltale_tests_suites.cmake)
# Only to end a test that hangs: ThreadSanitizer makes code some fifty times slower.
set(timeout_seconds 300)
if(TELLTALE_SANITIZE)
  set(timeout_seconds 1800)
endif()
add_custom_command(
  TARGET telltale_tests POST_BUILD
  COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:telltale_tests> -D OUTPUT=${suites}
          -D WORKING_DIRECTORY=${PROJECT_SOURCE_DIR} -D TIMEOUT_SECONDS=${timeout_seconds}
          -P ${PROJECT_SOURCE_DIR}/cmake/discover_suites.cmake
  BYPRODUCTS ${suites}
  VERBATIM)
set(include_if_built ${PROJECT_BINARY_DIR}/telltale_tests_include.cmake)
file(WRITE ${include_if_built} "include(\"${suites}\" OPTIONAL)\n")
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include_if_built})
