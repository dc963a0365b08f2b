include(GoogleTest)

add_executable(egress_test
  ${PROJECT_SOURCE_DIR}/tests/unit/egress_body_reader_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/egress_client_hello_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/egress_dns_message_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/egress_http_head_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/egress_response_head_test.cc)
target_link_libraries(egress_test PRIVATE
  sandglass_egress_wire absl::strings GTest::gmock_main)
gtest_discover_tests(egress_test)
