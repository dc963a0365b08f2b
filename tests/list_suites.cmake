# Writes to LIST a test for each suite of PROGRAM; see suites.cmake.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests TIMEOUT 60
  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
# What a parameter is printed as may hold anything; suites' lines don't.
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." lines "${output}")
if(NOT lines)
  message(FATAL_ERROR "${PROGRAM} names no suite")
endif()
set(tests "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "[\n.]" "" suite "${line}")
  string(APPEND tests
    "add_test([==[${PREFIX}${suite}]==] [==[${PROGRAM}]==]"
    " [==[--gtest_filter=${suite}.*]==])\n"
    "set_tests_properties([==[${PREFIX}${suite}]==] PROPERTIES")
  set(before "")
  foreach(word IN LISTS PROPERTIES)
    if(before STREQUAL "LABELS" AND NIGHTLY AND suite MATCHES "^(${NIGHTLY})$")
      string(APPEND word ";nightly")
    endif()
    string(APPEND tests " [==[${word}]==]")
    set(before "${word}")
  endforeach()
  string(APPEND tests ")\n")
endforeach()
file(WRITE ${LIST} "${tests}")
