# Run as a script: writes to OUTPUT one add_test() for each suite of the GoogleTest program PROGRAM.

execute_process(
  COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE listing
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests failed: ${result}\n${listing}")
endif()

# A suite is a line such as "Name." or "Prefix/Name/0.  # TypeParam = int"; its tests are indented.
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\.[^\n]*" suites "${listing}")
set(tests "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "^\n?([A-Za-z0-9_/]+)\\..*" "\\1" name "${suite}")
  string(APPEND tests
    "add_test([==[${name}]==] [==[${PROGRAM}]==] --gtest_brief=1 [==[--gtest_filter=${name}.*]==])\n"
    "set_tests_properties([==[${name}]==] PROPERTIES TIMEOUT ${TIMEOUT_SECONDS} "
    "WORKING_DIRECTORY [==[${WORKING_DIRECTORY}]==])\n")
endforeach()
file(WRITE ${OUTPUT} "${tests}")
