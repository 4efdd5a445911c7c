# fuzz/<name>_fuzz.cc, which defines LLVMFuzzerTestOneInput, becomes build/fuzz/<name>_fuzz.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "TELLTALE_FUZZ needs clang; use the preset \"fuzz\".")
endif()
target_compile_options(telltale_options INTERFACE -fsanitize=fuzzer-no-link)

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc)
add_custom_target(fuzzers)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE telltale_lib)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
endforeach()
