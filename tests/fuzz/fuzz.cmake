# libFuzzer targets, and of the rest only what they link: this is all that the
# preset fuzz builds. tests/fuzz.sh runs them.
foreach(folder proto policy sandbox server client)
  add_subdirectory(${PROJECT_SOURCE_DIR}/${folder}
    ${CMAKE_BINARY_DIR}/${folder} EXCLUDE_FROM_ALL)
endforeach()

# sandglass_fuzz_target(NAME ROOM…): tests/fuzz/NAME_fuzz.cc as bin/fuzz/NAME,
# with the libraries of these rooms.
function(sandglass_fuzz_target name)
  add_executable(fuzz_${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/${name}_fuzz.cc)
  set_target_properties(fuzz_${name} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/fuzz)
  list(TRANSFORM ARGN REPLACE "/" "_" OUTPUT_VARIABLE rooms)
  list(TRANSFORM rooms PREPEND sandglass_)
  target_link_libraries(fuzz_${name} PRIVATE ${rooms} protobuf::libprotobuf)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_compile_definitions(fuzz_${name} PRIVATE
    SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()

sandglass_fuzz_target(answer client/run)
sandglass_fuzz_target(client_hello sandbox/egress/parse)
sandglass_fuzz_target(compiled server/phases)
sandglass_fuzz_target(config server/daemon)
sandglass_fuzz_target(dns_query sandbox/egress/parse)
sandglass_fuzz_target(facts policy/rules)
sandglass_fuzz_target(fetch client/run)
sandglass_fuzz_target(file_request sandbox/file_agent)
sandglass_fuzz_target(http_head sandbox/egress/parse)
sandglass_fuzz_target(jail sandbox/jail)
sandglass_fuzz_target(json policy/text)
sandglass_fuzz_target(kernel server/session)
sandglass_fuzz_target(language policy/language)
sandglass_fuzz_target(library policy/libraries)
sandglass_fuzz_target(library_lock policy/libraries)
sandglass_fuzz_target(llm client/llm)
sandglass_fuzz_target(network policy/network)
sandglass_fuzz_target(output server/job)
sandglass_fuzz_target(paths policy/language)
sandglass_fuzz_target(profile policy/profile)
sandglass_fuzz_target(program sandbox/jail sandbox/zygote)
sandglass_fuzz_target(redaction policy/redaction)
sandglass_fuzz_target(request server/rpc)
sandglass_fuzz_target(runner_job sandbox/zygote)
sandglass_fuzz_target(seccomp policy/seccomp)
sandglass_fuzz_target(session sandbox/jail)
sandglass_fuzz_target(spawner_event sandbox/yard)
sandglass_fuzz_target(spawner_request sandbox/spawner)
sandglass_fuzz_target(tar sandbox/archive)
sandglass_fuzz_target(terminal client/base)
sandglass_fuzz_target(verdict policy/verdict)
sandglass_fuzz_target(workspace sandbox/jailed)
