# Builds the files of queries/ into the library. A file becomes one EmbeddedQuery, named by its path
# below queries/ without ".sql". The text is written as an array of bytes: compilers limit the length of
# string literals, and no character of SQL can break an array.
#
# Included, this file defines telltale_embed_queries(OUTPUT FILE...). Run as a script (cmake -P), it
# writes OUTPUT from ROOT and QUERIES.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(TELLTALE_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
  function(telltale_embed_queries output)
    list(SORT ARGN)
    # The list itself is an input too: a file that was removed must leave the binary.
    string(REPLACE ";" "\n" listing "${ARGN}")
    file(CONFIGURE OUTPUT ${output}.list CONTENT "${listing}\n" @ONLY)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -D OUTPUT=${output} -D ROOT=${PROJECT_SOURCE_DIR}/queries
              -P ${TELLTALE_EMBED_SCRIPT}
      DEPENDS ${ARGN} ${output}.list ${TELLTALE_EMBED_SCRIPT}
      COMMENT "Embedding queries"
      VERBATIM)
  endfunction()
  return()
endif()

set(texts "")
set(rows "")
set(count 0)
file(STRINGS ${OUTPUT}.list files)
foreach(file IN LISTS files)
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(REGEX REPLACE "\\.sql$" "" name ${name})
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1', " bytes "${hex}")
  string(REPLACE "'\\x0a', " "'\\n',\n    " bytes "${bytes}")
  string(APPEND texts "constexpr char kText${count}[] = {\n    ${bytes}'\\0'};\n")
  string(APPEND rows "    {\"${name}\", {kText${count}, sizeof(kText${count}) - 1}},\n")
  math(EXPR count "${count} + 1")
endforeach()

if(count EQUAL 0)
  set(body "std::span<const EmbeddedQuery> EmbeddedQueries() { return {}; }\n")
else()
  set(body "namespace {

${texts}
constexpr EmbeddedQuery kQueries[] = {
${rows}};

}  // namespace

std::span<const EmbeddedQuery> EmbeddedQueries() { return kQueries; }
")
endif()

file(WRITE ${OUTPUT} "// Generated from queries/ by cmake/embed_queries.cmake.

#include \"store/embedded_queries.h\"

namespace telltale {

${body}
}  // namespace telltale
")
