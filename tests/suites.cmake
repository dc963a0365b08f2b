# sandglass_add_suites(TARGET PREFIX [NIGHTLY SUITE…] [PART SUITE=FILTER…]
# [ONE_AT_A_TIME SUITE…] [PROPERTY VALUE]…): each suite of a GoogleTest program as
# one test of ctest, called PREFIX and the suite's name, so that its tests share
# what the suite sets up: a daemon takes as long to start as many of them take to run, and ctest takes
# as long for a test of ours as most of those take. The names are asked of the
# program once it is built, as gtest_discover_tests does, which makes a test of each
# test.
#
# Some tests repeat in another setting, or at greater length, what a test of every
# change looks at; docs/testing.md says which. A suite named after NIGHTLY has the
# label nightly as well. Of one named after PART, every change runs what the
# GoogleTest filter after the first "=" chooses, which has the label part, and each
# night all of it, as PREFIX<SUITE>Whole with the label nightly.
#
# Several tests run at once, each with a daemon of its own. Of the suites named
# after ONE_AT_A_TIME, which fill the machine or measure it, only one does: they
# have the lock full_machine.
function(sandglass_add_suites target prefix)
  # Programs for another machine can't be asked.
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(properties)
  set(nightly)
  set(parts)
  set(one_at_a_time)
  set(list_of properties)
  foreach(word IN LISTS ARGN)
    if(word STREQUAL "NIGHTLY")
      set(list_of nightly)
    elseif(word STREQUAL "PART")
      set(list_of parts)
    elseif(word STREQUAL "ONE_AT_A_TIME")
      set(list_of one_at_a_time)
    else()
      # Properties have names in capitals; suites and filters don't.
      if(word MATCHES "^[A-Z_]+$")
        set(list_of properties)
      endif()
      list(APPEND ${list_of} "${word}")
    endif()
  endforeach()
  # Sanitizers slow programs down, ThreadSanitizer by up to fifteen times.
  list(FIND properties TIMEOUT at)
  if(NOT SANDGLASS_SANITIZER STREQUAL "" AND NOT at EQUAL -1)
    math(EXPR at "${at} + 1")
    list(GET properties ${at} seconds)
    math(EXPR seconds "${seconds} * 5")
    list(REMOVE_AT properties ${at})
    list(INSERT properties ${at} ${seconds})
  endif()
  string(JOIN "|" nightly ${nightly})
  string(JOIN "|" one_at_a_time ${one_at_a_time})
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list}
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${target}>"
      "-DPREFIX=${prefix}" "-DPROPERTIES=${properties}" "-DNIGHTLY=${nightly}"
      "-DPARTS=${parts}" "-DONE_AT_A_TIME=${one_at_a_time}" "-DLIST=${list}"
      -P ${PROJECT_SOURCE_DIR}/tests/list_suites.cmake VERBATIM)
  # A program that isn't built is a test that fails.
  file(WRITE ${list}.in
    "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelse()\n"
    "  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${list}.in)
endfunction()
