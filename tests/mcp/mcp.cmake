# `sandglass mcp` with a real daemon and the protocol's official clients.
add_executable(sandglass_mcp_test
  support/subprocess.cc
  mcp/official_clients_test.cc)
target_link_libraries(sandglass_mcp_test PRIVATE
  sandglass_client sandglass_test_support GTest::gmock GTest::gtest_main)
target_compile_definitions(sandglass_mcp_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
foreach(target sandglassd sandglass-spawner sandglass)
  if(TARGET ${target})
    add_dependencies(sandglass_mcp_test ${target})
  endif()
endforeach()
sandglass_add_suites(sandglass_mcp_test mcp.
  PART
    # One of each language, and of each major version of the protocol.
    "McpClientsOfTheMachine=McpClientsOfTheMachine.ThePythonClientWithoutAHandshakeWorks:McpClientsOfTheMachine.TheNodeClientWithAHandshakeWorks"
  LABELS mcp TIMEOUT 1200 COST 800
  FIXTURES_REQUIRED languages)
