# The Python package against a real daemon, by pytest in virtual environments.
# sandglass_python_test(NAME LABELS GROUP PYTEST-ARGUMENT…)
function(sandglass_python_test name labels group)
  add_test(NAME python.${name} COMMAND
    ${PROJECT_SOURCE_DIR}/tests/python/run.sh ${CMAKE_BINARY_DIR} ${group} ${ARGN})
  set_tests_properties(python.${name} PROPERTIES LABELS "${labels}" TIMEOUT 900
    COST 800 SKIP_RETURN_CODE 77
    FIXTURES_REQUIRED languages)
endfunction()

# With every change what the package does; each night also what takes a minute
# and changes seldom: its wheel and its types, programs of the documentation, the
# public suite of deepagents, approvals with a daemon of their own.
sandglass_python_test(client "python;part" client --ignore=client/test_package.py)
sandglass_python_test(clientWhole "python;nightly" client)
sandglass_python_test(agents "python;part" agents
  --ignore=agents/test_deepagents_hostile.py --ignore=agents/test_deepagents_suite.py
  --ignore=agents/test_langchain_approvals.py --ignore=agents/test_migration.py
  --ignore=agents/test_types.py)
sandglass_python_test(agentsWhole "python;nightly" agents)
# The gateway's OpenAPI document; it needs no daemon.
sandglass_python_test(gateway python gateway)
