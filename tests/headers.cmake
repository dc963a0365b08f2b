# Tests are compiled to be there soon, not to be fast.
add_compile_options($<$<CONFIG:RelWithDebInfo>:-O0> $<$<CONFIG:RelWithDebInfo>:-g1>)

# What nearly every test includes, compiled once: without it most of a test's
# compile time is GoogleTest, gRPC and the generated messages.
add_executable(sandglass_test_headers EXCLUDE_FROM_ALL support/headers.cc)
target_link_libraries(sandglass_test_headers PRIVATE
  sandglass_options sandglass_api_proto gRPC::grpc++ GTest::gtest GTest::gmock)
target_precompile_headers(sandglass_test_headers PRIVATE
  <algorithm> <filesystem> <fstream> <functional> <map> <memory> <optional>
  <set> <string> <thread> <utility> <vector>
  <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/time/time.h>
  <gmock/gmock.h> <gtest/gtest.h> <grpcpp/grpcpp.h>
  <sandglass/v1/file_service.grpc.pb.h>
  <sandglass/v1/sandbox_service.grpc.pb.h>
  <sandglass/v1/session_service.grpc.pb.h>
  ${SANDGLASS_JSON_HEADERS} ${SANDGLASS_SERVICE_HEADERS})

# For tests of what knows no gRPC but RE2, which has flags of its own.
add_executable(sandglass_unit_headers EXCLUDE_FROM_ALL support/headers.cc)
target_link_libraries(sandglass_unit_headers PRIVATE
  sandglass_options absl::statusor absl::strings absl::time PkgConfig::RE2
  GTest::gtest GTest::gmock)
target_precompile_headers(sandglass_unit_headers PRIVATE
  ${SANDGLASS_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
