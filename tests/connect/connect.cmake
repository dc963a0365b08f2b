# Connect's and gRPC-Web's own clients against a gateway before a node.
add_test(NAME connect.clients COMMAND
  ${PROJECT_SOURCE_DIR}/tests/connect/run.sh ${CMAKE_BINARY_DIR})
set_tests_properties(connect.clients PROPERTIES LABELS "connect;nightly" TIMEOUT 900
  COST 800 SKIP_RETURN_CODE 77
  FIXTURES_REQUIRED languages)
