# Writes to LIST a test for each suite of PROGRAM; see suites.cmake.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} --gtest_list_tests TIMEOUT 60
  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
# What a parameter is printed as may hold anything; suites' lines don't.
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." lines "${output}")
if(NOT lines)
  message(FATAL_ERROR "${PROGRAM} names no suite")
endif()
set(tests "")

# Fails where a pattern of a GoogleTest filter names no test, as after a test was
# renamed.
function(require_tests filter)
  string(REGEX MATCHALL "[^-:]+" patterns "${filter}")
  foreach(pattern IN LISTS patterns)
    execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=${pattern}
      OUTPUT_VARIABLE named COMMAND_ERROR_IS_FATAL ANY)
    if(NOT named MATCHES "\n  ")
      message(FATAL_ERROR "${PROGRAM} has no test ${pattern}")
    endif()
  endforeach()
endfunction()

# Adds a test of a suite's to `tests`, with a label beside its own where that
# isn't "".
function(add_one suite name filter label)
  string(APPEND tests
    "add_test([==[${name}]==] [==[${PROGRAM}]==]"
    " [==[--gtest_filter=${filter}]==])\n"
    "set_tests_properties([==[${name}]==] PROPERTIES"
    # The filter names nothing.
    " FAIL_REGULAR_EXPRESSION [==[[^0-9]0 tests from 0 test suites]==]")
  set(before "")
  foreach(word IN LISTS PROPERTIES)
    if(before STREQUAL "LABELS" AND label)
      string(APPEND word ";${label}")
    endif()
    string(APPEND tests " [==[${word}]==]")
    set(before "${word}")
  endforeach()
  if(ONE_AT_A_TIME AND suite MATCHES "^(${ONE_AT_A_TIME})$")
    string(APPEND tests " RESOURCE_LOCK full_machine")
  endif()
  string(APPEND tests ")\n")
  set(tests "${tests}" PARENT_SCOPE)
endfunction()

set(suites)
foreach(line IN LISTS lines)
  string(REGEX REPLACE "[\n.]" "" suite "${line}")
  list(APPEND suites ${suite})
  set(filter "${suite}.*")
  foreach(part IN LISTS PARTS)
    string(FIND "${part}" "=" at)
    string(SUBSTRING "${part}" 0 ${at} name)
    if(name STREQUAL suite)
      math(EXPR at "${at} + 1")
      string(SUBSTRING "${part}" ${at} -1 filter)
      require_tests("${filter}")
      add_one("${suite}" "${PREFIX}${suite}Whole" "${suite}.*" nightly)
      add_one("${suite}" "${PREFIX}${suite}" "${filter}" part)
      set(filter "")
    endif()
  endforeach()
  if(NIGHTLY AND suite MATCHES "^(${NIGHTLY})$")
    add_one("${suite}" "${PREFIX}${suite}" "${filter}" nightly)
  elseif(filter)
    add_one("${suite}" "${PREFIX}${suite}" "${filter}" "")
  endif()
endforeach()
# A suite that was renamed must not leave what is said of it behind.
set(named)
foreach(suites_of IN ITEMS "${NIGHTLY}" "${ONE_AT_A_TIME}")
  string(REPLACE "|" ";" suites_of "${suites_of}")
  list(APPEND named ${suites_of})
endforeach()
foreach(part IN LISTS PARTS)
  string(REGEX REPLACE "=.*" "" part "${part}")
  list(APPEND named ${part})
endforeach()
foreach(suite IN LISTS named)
  if(NOT suite IN_LIST suites)
    message(FATAL_ERROR "${PROGRAM} has no suite ${suite}")
  endif()
endforeach()
file(WRITE ${LIST} "${tests}")
