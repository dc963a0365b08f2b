# sandglass_proto_library(NAME [SERVICES NAME] [LITE] FILES a.proto b.proto…)
# Builds a static library from .proto files below proto/, and with SERVICES
# another, which needs gRPC, from the services in those called *_service.proto.
# Generated headers are included by their path below proto/, for example
# "sandglass/v1/run.pb.h".

# Not gRPC's own target, which a build for another machine would take from there.
find_program(SANDGLASS_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

function(sandglass_proto_library name)
  cmake_parse_arguments(arg "LITE" "SERVICES" "FILES" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/gen/${name})
  file(MAKE_DIRECTORY ${out})
  set(sources)
  set(services)
  foreach(file IN LISTS arg_FILES)
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    set(generated ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
    set(cpp_out "${out}")
    if(arg_LITE)
      set(cpp_out "lite:${out}")
    endif()
    set(generated_services)
    set(extra)
    if(arg_SERVICES AND file MATCHES "_service\\.proto$")
      set(generated_services ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
      set(extra --grpc_out=${out} --plugin=protoc-gen-grpc=${SANDGLASS_GRPC_PLUGIN})
    endif()
    add_custom_command(
      OUTPUT ${generated} ${generated_services}
      COMMAND protobuf::protoc -I ${PROJECT_SOURCE_DIR}/proto --cpp_out=${cpp_out} ${extra} ${file}
      DEPENDS ${PROJECT_SOURCE_DIR}/proto/${file}
      COMMENT "protoc ${file}" VERBATIM)
    list(APPEND sources ${generated})
    list(APPEND services ${generated_services})
  endforeach()
  add_library(${name} STATIC ${sources})
  # For those who need the files themselves, below proto/.
  set_target_properties(${name} PROPERTIES SANDGLASS_PROTO_FILES "${arg_FILES}")
  # Generated code is not held to our warnings.
  target_include_directories(${name} SYSTEM PUBLIC ${out})
  # A LITE library names no runtime: the spawner takes the small one, the daemon
  # has the full one already and must not have both.
  if(NOT arg_LITE)
    target_link_libraries(${name} PUBLIC protobuf::libprotobuf)
  endif()
  if(arg_SERVICES)
    add_library(${arg_SERVICES} STATIC ${services})
    # Compiled together they take less than half the time: most of what each of
    # them makes are the same templates of gRPC. Messages can't be put together,
    # since what protoc writes for each file has the same local names.
    set_target_properties(${arg_SERVICES} PROPERTIES UNITY_BUILD ${SANDGLASS_UNITY})
    target_link_libraries(${arg_SERVICES} PUBLIC ${name} gRPC::grpc++)
    # The headers that both need are generated once, by the messages' library.
    add_dependencies(${arg_SERVICES} ${name})
  endif()
endfunction()
