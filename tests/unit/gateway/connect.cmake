# Connect and gRPC-Web: bytes in, bytes out.
add_executable(gateway_connect_test
  ${CMAKE_CURRENT_LIST_DIR}/connect/call_head_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/connect/envelope_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/connect/gzip_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/connect/json_codec_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/connect/json_refusal_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/connect/metadata_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/connect/methods_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/connect/openapi_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/connect/stream_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/connect/unary_test.cc)
# gRPC is what the headers that are compiled once for tests are compiled with.
target_link_libraries(gateway_connect_test PRIVATE
  sandglass_gateway_connect gRPC::grpc++ GTest::gmock_main)
sandglass_add_suites(gateway_connect_test gateway. TIMEOUT 120)

# Prints the OpenAPI document, for tests that know that format.
add_executable(gateway_openapi ${CMAKE_CURRENT_LIST_DIR}/connect/print_openapi.cc)
target_link_libraries(gateway_openapi PRIVATE sandglass_gateway_connect)
