include(GoogleTest)

add_executable(egress_test
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/egress/parse/body_reader_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/egress/parse/client_hello_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/egress/parse/dns_message_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/egress/parse/http_head_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/egress/parse/response_head_test.cc)
target_link_libraries(egress_test PRIVATE
  sandglass_sandbox_egress_parse absl::strings GTest::gmock_main)
sandglass_add_suites(egress_test egress.parse. TIMEOUT 120)
