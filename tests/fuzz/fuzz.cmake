# libFuzzer targets, and of the rest only what they link: this is all that the
# preset fuzz builds. tests/fuzz.sh runs them.
foreach(folder proto policy sandbox)
  add_subdirectory(${PROJECT_SOURCE_DIR}/${folder}
    ${CMAKE_BINARY_DIR}/${folder} EXCLUDE_FROM_ALL)
endforeach()
find_package(OpenSSL REQUIRED)

# Of each folder, what reads bytes of others.
set(sandbox ${PROJECT_SOURCE_DIR}/sandbox)
add_library(sandglass_fuzzed_sandbox STATIC
  ${sandbox}/counter_files.cc
  ${sandbox}/descriptor_room.cc
  ${sandbox}/egress_port.cc
  ${sandbox}/privileges.cc
  ${sandbox}/jail.cc
  ${sandbox}/jail_doors.cc
  ${sandbox}/jail_events.cc
  ${sandbox}/jailed/runner_job.cc
  ${sandbox}/jailed/stage.cc
  ${sandbox}/jailed/workspace.cc
  ${sandbox}/java_key_store.cc
  ${sandbox}/job_frame.cc
  ${sandbox}/backlog_bytes.cc
  ${sandbox}/jail_process.cc
  ${sandbox}/lock_census.cc
  ${sandbox}/netlink_bytes.cc
  ${sandbox}/network_proto.cc
  ${sandbox}/session_jail.cc
  ${sandbox}/spawner/request.cc ${sandbox}/spawner/template_book.cc
  ${sandbox}/spawner_event.cc
  ${sandbox}/untrusted_fds.cc)
target_link_libraries(sandglass_fuzzed_sandbox PUBLIC sandglass_os
  sandglass_spawner_proto protobuf::libprotobuf sandglass_policy)

set(server ${PROJECT_SOURCE_DIR}/server)
add_library(sandglass_fuzzed_output STATIC
  ${server}/compiled_file.cc
  ${server}/digest.cc
  ${server}/end_note.cc
  ${server}/output_buffer.cc
  ${server}/text.cc)
target_link_libraries(sandglass_fuzzed_output PUBLIC
  sandglass_fuzzed_sandbox OpenSSL::Crypto)

add_library(sandglass_fuzzed_server STATIC
  ${server}/admission_config.cc
  ${server}/cancel_token.cc
  ${server}/config.cc
  ${server}/egress_config.cc
  ${server}/errors.cc
  ${server}/identity.cc
  ${server}/inspection.cc
  ${server}/jail_network.cc
  ${server}/kernel_protocol.cc
  ${server}/libraries_config.cc
  ${server}/library_checks.cc
  ${server}/listen_address.cc
  ${server}/log.cc
  ${server}/make_error.cc
  ${server}/make_job.cc
  ${server}/memory_budget.cc
  ${server}/metrics_config.cc
  ${server}/parse.cc
  ${server}/policy_set.cc
  ${server}/refused_message.cc
  ${server}/registry_url.cc
  ${server}/request_checks.cc
  ${server}/response.cc
  ${server}/run.cc
  ${server}/run_registry.cc
  ${server}/copy_change.cc
  ${server}/durable_log.cc
  ${server}/session.cc
  ${server}/session_copy.cc
  ${server}/session_record.cc
  ${server}/validate.cc)
target_link_libraries(sandglass_fuzzed_server PUBLIC sandglass_fuzzed_output
  sandglass_api_proto sandglass_durable_proto sandglass_seccomp
  absl::synchronization spdlog::spdlog ZLIB::ZLIB
  Threads::Threads)

set(client ${PROJECT_SOURCE_DIR}/client)
add_library(sandglass_fuzzed_terminal STATIC ${client}/terminal_filter.cc)
target_link_libraries(sandglass_fuzzed_terminal PUBLIC
  sandglass_options absl::strings absl::str_format)

add_library(sandglass_fuzzed_client STATIC
  ${client}/error_text.cc
  ${client}/exit_codes.cc
  ${client}/fetch_writer.cc
  ${client}/file_io.cc
  ${client}/json_text.cc
  ${client}/language_guess.cc
  ${client}/local_files.cc
  ${client}/units.cc
  ${client}/verdict_line.cc)
target_link_libraries(sandglass_fuzzed_client PUBLIC sandglass_fuzzed_terminal
  sandglass_api_proto absl::status absl::statusor absl::time absl::cleanup
  nlohmann_json::nlohmann_json)

add_library(sandglass_fuzzed_llm STATIC
  ${client}/json_depth.cc
  ${client}/llm/answer_reader.cc
  ${client}/llm/anthropic.cc
  ${client}/llm/anthropic_decoder.cc
  ${client}/llm/call_parts.cc
  ${client}/llm/json_value.cc
  ${client}/llm/openai_chat.cc
  ${client}/llm/openai_chat_decoder.cc
  ${client}/llm/openai_responses.cc
  ${client}/llm/openai_responses_decoder.cc
  ${client}/llm/provider_error.cc
  ${client}/llm/sse.cc
  ${client}/llm/turn_parts.cc)
target_link_libraries(sandglass_fuzzed_llm PUBLIC sandglass_fuzzed_terminal
  absl::random_random absl::status absl::statusor absl::strings
  nlohmann_json::nlohmann_json)

# sandglass_fuzz_target(NAME LIBRARY…): tests/fuzz/NAME_fuzz.cc as
# bin/fuzz/NAME.
function(sandglass_fuzz_target name)
  add_executable(fuzz_${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/${name}_fuzz.cc)
  set_target_properties(fuzz_${name} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/fuzz)
  target_link_libraries(fuzz_${name} PRIVATE ${ARGN})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_compile_definitions(fuzz_${name} PRIVATE
    SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()

sandglass_fuzz_target(answer sandglass_fuzzed_client)
sandglass_fuzz_target(client_hello sandglass_egress_wire)
sandglass_fuzz_target(compiled sandglass_fuzzed_output)
sandglass_fuzz_target(config sandglass_fuzzed_server)
sandglass_fuzz_target(dns_query sandglass_egress_wire)
sandglass_fuzz_target(facts sandglass_policy)
sandglass_fuzz_target(fetch sandglass_fuzzed_client)
sandglass_fuzz_target(file_request sandglass_file_agent)
sandglass_fuzz_target(http_head sandglass_egress_wire)
sandglass_fuzz_target(jail sandglass_fuzzed_sandbox)
sandglass_fuzz_target(json sandglass_policy)
sandglass_fuzz_target(kernel sandglass_fuzzed_server)
sandglass_fuzz_target(language sandglass_policy)
sandglass_fuzz_target(library sandglass_policy)
sandglass_fuzz_target(library_lock sandglass_policy)
sandglass_fuzz_target(llm sandglass_fuzzed_llm)
sandglass_fuzz_target(network sandglass_policy)
sandglass_fuzz_target(output sandglass_fuzzed_output)
sandglass_fuzz_target(paths sandglass_policy)
sandglass_fuzz_target(profile sandglass_policy)
sandglass_fuzz_target(program sandglass_fuzzed_sandbox)
sandglass_fuzz_target(redaction sandglass_policy)
sandglass_fuzz_target(request sandglass_fuzzed_server)
sandglass_fuzz_target(runner_job sandglass_fuzzed_sandbox)
sandglass_fuzz_target(seccomp sandglass_seccomp sandglass_policy)
sandglass_fuzz_target(session sandglass_fuzzed_sandbox)
sandglass_fuzz_target(spawner_event sandglass_fuzzed_sandbox)
sandglass_fuzz_target(spawner_request sandglass_fuzzed_sandbox)
sandglass_fuzz_target(tar sandglass_file_agent)
sandglass_fuzz_target(terminal sandglass_fuzzed_terminal)
sandglass_fuzz_target(verdict sandglass_policy)
sandglass_fuzz_target(workspace sandglass_fuzzed_sandbox)
