# Compiler flags for Telltale's own code: target telltale_options. There is no -march=native: a binary
# must run on any machine of its architecture; code that needs more asks the processor at run time.

add_library(telltale_options INTERFACE)
target_compile_options(telltale_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  # In clang, -Wconversion holds -Wsign-conversion; in g++ it does not.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
  $<$<BOOL:${TELLTALE_WERROR}>:-Werror>
  # g++ 12 finds overlapping copies in std::string's own code (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
target_link_options(telltale_options INTERFACE -Wl,--as-needed)

if(TELLTALE_SANITIZE)
  set(sanitize -fsanitize=${TELLTALE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With sanitizers, g++ no longer sees that the standard library's members are set.
    list(APPEND sanitize -Wno-maybe-uninitialized)
  endif()
  target_compile_options(telltale_options INTERFACE ${sanitize})
  target_link_options(telltale_options INTERFACE ${sanitize})
  # Libraries would take inline functions of the standard library from the program, instrumented ones.
  # clang's sanitizers are in the program themselves: what they replace must be seen by the libraries.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_link_options(telltale_options INTERFACE
      -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/no_exports.map)
  endif()
endif()

if(TELLTALE_LTO)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()
