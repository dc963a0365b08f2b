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
  # With every change the sources that were changed, each night all of them.
  sandglass_style_test(thread_safety
    /usr/bin/python3 ${style}/thread_safety.py ${CMAKE_BINARY_DIR} --changed)
  sandglass_style_test(thread_safetyWhole
    /usr/bin/python3 ${style}/thread_safety.py ${CMAKE_BINARY_DIR})
  set_tests_properties(style.thread_safety PROPERTIES LABELS "style;part")
  set_tests_properties(style.thread_safetyWhole PROPERTIES LABELS "style;nightly")
  # Long, so begun first, one beside the daemons' tests (COST 800).
  set_tests_properties(style.tidy style.thread_safety style.thread_safetyWhole
    PROPERTIES COST 900 RESOURCE_LOCK spare_time TIMEOUT 3600)
endif()
