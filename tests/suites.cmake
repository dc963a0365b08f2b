# sandglass_add_suites(TARGET PREFIX [NIGHTLY SUITE…] [PROPERTY VALUE]…): each
# suite of a GoogleTest program as one test of ctest, called PREFIX and the
# suite's name, so that its tests share what the suite sets up: a daemon takes as
# long to start as many of them take to run. The names are asked of the program
# once it is built, as gtest_discover_tests does, which makes a test of each test.
#
# The suites named after NIGHTLY have the label nightly as well: they repeat in
# another setting, or at greater length, what a test of every change looks at
# (docs/testing.md says which).
function(sandglass_add_suites target prefix)
  cmake_parse_arguments(arg "" "" "NIGHTLY" ${ARGN})
  # What the words after NIGHTLY end with are properties, in capitals.
  set(properties ${arg_UNPARSED_ARGUMENTS})
  set(nightly)
  foreach(word IN LISTS arg_NIGHTLY)
    if(properties_began OR word MATCHES "^[A-Z_]+$")
      set(properties_began TRUE)
      list(APPEND properties ${word})
    else()
      list(APPEND nightly ${word})
    endif()
  endforeach()
  string(JOIN "|" nightly ${nightly})
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list}
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${target}>"
      "-DPREFIX=${prefix}" "-DPROPERTIES=${properties}" "-DNIGHTLY=${nightly}"
      "-DLIST=${list}"
      -P ${PROJECT_SOURCE_DIR}/tests/list_suites.cmake VERBATIM)
  # A program that isn't built is a test that fails.
  file(WRITE ${list}.in
    "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelse()\n"
    "  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${list}.in)
endfunction()
