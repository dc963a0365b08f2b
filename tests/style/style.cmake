# The style checks as tests, labelled style. They look at sources, so one build
# runs them: the one without a sanitizer.
if(SANDGLASS_SANITIZER STREQUAL "")
  set(style ${PROJECT_SOURCE_DIR}/tests/style)

  function(sandglass_style_test name)
    add_test(NAME style.${name} COMMAND nice ${ARGN})
    set_tests_properties(style.${name} PROPERTIES LABELS style TIMEOUT 300)
  endfunction()

  # Debian's own Python: another on PATH may be anything.
  foreach(check layering one_definition sizes words markdown_links selftest)
    sandglass_style_test(${check} /usr/bin/python3 ${style}/${check}.py)
  endforeach()
  sandglass_style_test(mutation
    /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/mutation_selftest.py)
  sandglass_style_test(container_filter /usr/bin/python3
    ${PROJECT_SOURCE_DIR}/deploy/container/seccomp.py --check)
  sandglass_style_test(format ${style}/format.sh)
  sandglass_style_test(shell ${style}/shell.sh)
  sandglass_style_test(buf ${style}/buf.sh ${CMAKE_BINARY_DIR})
  sandglass_style_test(tidy /usr/bin/python3 ${style}/tidy.py ${CMAKE_BINARY_DIR})
  # clang checks locks by their annotations; what it must find it finds, with the
  # options that all is compiled with.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    foreach(fault NONE UNGUARDED DISORDERED)
      add_test(NAME style.locks_${fault} COMMAND ${CMAKE_CXX_COMPILER} -std=c++20
        $<TARGET_PROPERTY:sandglass_options,INTERFACE_COMPILE_OPTIONS>
        -fsyntax-only -D${fault} ${style}/locks.cc COMMAND_EXPAND_LISTS)
      set_tests_properties(style.locks_${fault} PROPERTIES LABELS style)
    endforeach()
    set_tests_properties(style.locks_UNGUARDED PROPERTIES
      PASS_REGULAR_EXPRESSION "requires holding mutex 'mutex_'")
    set_tests_properties(style.locks_DISORDERED PROPERTIES
      PASS_REGULAR_EXPRESSION "'first_' must be acquired before 'mutex_'")
  endif()
  # Long, so begun before the daemons' tests (COST 800).
  set_tests_properties(style.tidy PROPERTIES COST 900 RESOURCE_LOCK spare_time
    TIMEOUT 3600)
endif()
