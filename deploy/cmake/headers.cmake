# Headers that most sources of a part include, compiled once. The preset fuzz and
# clang-tidy compile without, so that a source that leaves out an include is found.
set(SANDGLASS_COMMON_HEADERS
  <algorithm> <functional> <map> <memory> <optional> <set> <string> <thread>
  <utility> <vector>
  <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/time/time.h>)
# Those of many templates, which clang instantiates here as well. gcc does that
# again in every source, 3 s of it.
set(SANDGLASS_JSON_HEADERS)
set(SANDGLASS_SERVICE_HEADERS)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(SANDGLASS_JSON_HEADERS <nlohmann/json.hpp>)
  foreach(service sandbox session file exec policy layer operator)
    list(APPEND SANDGLASS_SERVICE_HEADERS
      <sandglass/v1/${service}_service.grpc.pb.h>)
  endforeach()
endif()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers.cc
  CONTENT "// Only there for the headers that are compiled once.\n")

add_library(sandglass_common_headers OBJECT EXCLUDE_FROM_ALL
  ${CMAKE_BINARY_DIR}/headers.cc)
target_link_libraries(sandglass_common_headers PRIVATE
  sandglass_options absl::statusor absl::strings absl::time)
target_precompile_headers(sandglass_common_headers PRIVATE
  ${SANDGLASS_COMMON_HEADERS})

# And for those that know the public API's messages.
add_library(sandglass_message_headers OBJECT EXCLUDE_FROM_ALL
  ${CMAKE_BINARY_DIR}/headers.cc)
target_link_libraries(sandglass_message_headers PRIVATE
  sandglass_options sandglass_api_messages
  absl::statusor absl::strings absl::synchronization absl::time)
target_precompile_headers(sandglass_message_headers PRIVATE
  ${SANDGLASS_COMMON_HEADERS} <absl/synchronization/mutex.h>
  <sandglass/v1/run.pb.h> ${SANDGLASS_JSON_HEADERS})

# And for those that call or serve it.
add_library(sandglass_api_headers OBJECT EXCLUDE_FROM_ALL
  ${CMAKE_BINARY_DIR}/headers.cc)
target_link_libraries(sandglass_api_headers PRIVATE
  sandglass_options sandglass_api_proto gRPC::grpc++
  absl::statusor absl::strings absl::synchronization absl::time)
target_precompile_headers(sandglass_api_headers PRIVATE
  ${SANDGLASS_COMMON_HEADERS} <absl/synchronization/mutex.h>
  <grpcpp/grpcpp.h> <sandglass/v1/run.pb.h>
  ${SANDGLASS_JSON_HEADERS} ${SANDGLASS_SERVICE_HEADERS})
