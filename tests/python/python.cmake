# The Python package against a real daemon, by pytest in virtual environments.
foreach(group client agents)
  add_test(NAME python.${group} COMMAND
    ${PROJECT_SOURCE_DIR}/tests/python/run.sh ${CMAKE_BINARY_DIR} ${group})
  set_tests_properties(python.${group} PROPERTIES LABELS python TIMEOUT 900
    RESOURCE_LOCK sandglassd COST 800 SKIP_RETURN_CODE 77
    FIXTURES_REQUIRED languages)
endforeach()
