# The gateway's decisions, and whole clusters by a clock of the tests' own.
add_executable(gateway_test
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/edge/cors_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/edge/head_check_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/nodes/node_finder_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/nodes/node_registry_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/ports/port_heads_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/ports/port_link_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/ports/port_target_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/place/node_load_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/place/node_set_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/place/node_table_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/place/placement_simulation_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/place/placement_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/place/rendezvous_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/place/sent_since_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/place/tenant_slack_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/proxy/call_metadata_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/proxy/every_call_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/proxy/method_routes_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/gateway/proxy/routing_fields_test.cc)
target_link_libraries(gateway_test PRIVATE sandglass_gateway PkgConfig::RE2 GTest::gmock_main)
target_precompile_headers(gateway_test REUSE_FROM sandglass_unit_headers)
sandglass_unity(gateway_test)
sandglass_add_suites(gateway_test gateway. TIMEOUT 120)
