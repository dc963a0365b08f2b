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
  ${sandbox}/jail/counter_files.cc
  ${sandbox}/wire/descriptor_room.cc
  ${sandbox}/jail/jail.cc
  ${sandbox}/wire/egress_ports.cc
  ${sandbox}/jail/jail_events.cc
  ${sandbox}/zygote/runner_job.cc
  ${sandbox}/jailed/stage.cc
  ${sandbox}/jailed/workspace.cc
  ${sandbox}/yard/java_key_store.cc
  ${sandbox}/jail/job_frame.cc
  ${sandbox}/jail/backlog_bytes.cc
  ${sandbox}/jail/jail_process.cc
  ${sandbox}/jail/lock_census.cc
  ${sandbox}/jail/netlink_bytes.cc
  ${sandbox}/jail/session_jail.cc
  ${sandbox}/spawner/request.cc ${sandbox}/wire/template_book.cc
  ${sandbox}/yard/spawner_event.cc
  ${sandbox}/jail/untrusted_fds.cc)
target_link_libraries(sandglass_fuzzed_sandbox PUBLIC sandglass_os
  sandglass_spawner_proto protobuf::libprotobuf sandglass_policy)

set(server ${PROJECT_SOURCE_DIR}/server)
add_library(sandglass_fuzzed_output STATIC
  ${server}/phases/compiled_file.cc
  ${server}/base/digest.cc
  ${server}/job/end_marker.cc
  ${server}/job/output_buffer.cc
  ${server}/base/strings.cc)
target_link_libraries(sandglass_fuzzed_output PUBLIC
  sandglass_fuzzed_sandbox OpenSSL::Crypto)

add_library(sandglass_fuzzed_server STATIC
  ${server}/admission/admission_config.cc
  ${server}/base/cancel_token.cc
  ${server}/daemon/config.cc
  ${server}/daemon/egress_config.cc
  ${server}/base/errors.cc
  ${server}/base/accounts.cc
  ${server}/job/inspection.cc
  ${server}/job/jail_network.cc
  ${server}/session/kernel_protocol.cc
  ${server}/libraries/libraries_config.cc
  ${server}/job/library_checks.cc
  ${server}/base/listen_address.cc
  ${server}/base/log.cc
  ${server}/base/make_error.cc
  ${server}/job/job_builder.cc
  ${server}/base/memory_budget.cc
  ${server}/ops/metrics_config.cc
  ${server}/rpc/message_codec.cc
  ${server}/live_policy/policy_set.cc
  ${server}/rpc/refused_message.cc
  ${server}/libraries/registry_url.cc
  ${server}/job/request_checks.cc
  ${server}/run/run_response.cc
  ${server}/run/run.cc
  ${server}/run/run_registry.cc
  ${server}/session/copy_change.cc
  ${server}/base/durable_log.cc
  ${server}/session/session.cc
  ${server}/session/session_copy.cc
  ${server}/session/session_record.cc
  ${server}/run/validate.cc
  ${server}/base/random_id.cc
  ${server}/base/limits_proto.cc)
target_link_libraries(sandglass_fuzzed_server PUBLIC sandglass_fuzzed_output
  sandglass_api_proto sandglass_durable_proto sandglass_seccomp
  absl::synchronization spdlog::spdlog ZLIB::ZLIB
  Threads::Threads)

set(client ${PROJECT_SOURCE_DIR}/client)
add_library(sandglass_fuzzed_terminal STATIC ${client}/base/terminal_filter.cc)
target_link_libraries(sandglass_fuzzed_terminal PUBLIC
  sandglass_options absl::strings absl::str_format)

add_library(sandglass_fuzzed_client STATIC
  ${client}/connection/error_text.cc
  ${client}/base/exit_codes.cc
  ${client}/run/fetch_writer.cc
  ${client}/base/file_io.cc
  ${client}/base/json_text.cc
  ${client}/run/language_guess.cc
  ${client}/base/local_files.cc
  ${client}/base/units.cc
  ${client}/run/verdict_line.cc)
target_link_libraries(sandglass_fuzzed_client PUBLIC sandglass_fuzzed_terminal
  sandglass_api_proto absl::status absl::statusor absl::time absl::cleanup
  nlohmann_json::nlohmann_json)

add_library(sandglass_fuzzed_llm STATIC
  ${client}/base/json_depth.cc
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
