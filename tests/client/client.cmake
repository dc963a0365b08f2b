# The command line tool: its parts, and the binary against a daemon of our own
# in the test's process.
add_executable(client_test
  client/address_test.cc
  client/agent_parts_test.cc
  client/answer_text_test.cc
  client/audit_command_line_test.cc
  client/cli_audit_test.cc
  client/cli_copy_test.cc
  client/cli_daemon_test.cc
  client/cli_descriptors_test.cc
  client/cli_doctor_test.cc
  client/cli_exec_test.cc
  client/cli_fetch_test.cc
  client/cli_mcp_test.cc
  client/cli_operator_test.cc
  client/cli_rich_test.cc
  client/cli_run_test.cc
  client/cli_session_test.cc
  client/cli_shell_test.cc
  client/cli_signal_test.cc
  client/cli_terminal_test.cc
  client/cli_top_test.cc
  client/cli_trace_test.cc
  client/command_line_test.cc
  client/doctor_test.cc
  client/error_text_test.cc
  client/exit_codes_test.cc
  client/fake_daemon.cc
  client/fake_execs.cc
  client/fake_files.cc
  client/fake_operator.cc
  client/fake_sessions.cc
  client/fetch_writer_test.cc
  client/language_guess_test.cc
  client/layer_commands_test.cc
  client/line_window_test.cc
  client/mcp_fixture.cc
  client/mcp_http_test.cc
  client/mcp_protocol_test.cc
  client/mcp_stdio_test.cc
  client/operator_command_line_test.cc
  client/output_printer_test.cc
  client/repeat_command_test.cc
  client/result_files_test.cc
  client/rich_printer_test.cc
  client/run_request_test.cc
  client/session_command_line_test.cc
  client/session_copy_options_test.cc
  client/session_text_test.cc
  client/status_text_test.cc
  client/subprocess.cc
  client/terminal_filter_test.cc
  client/text_commands_test.cc
  client/text_fit_test.cc
  client/toolbox_test.cc
  client/top_screen_test.cc
  client/traceparent_test.cc
  client/units_test.cc
  client/usage_test.cc
  client/verdict_line_test.cc)
target_compile_definitions(client_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_SECURITY_DOC="${PROJECT_SOURCE_DIR}/docs/security.md"
  SANDGLASS_VERDICTS_DOC="${PROJECT_SOURCE_DIR}/docs/verdicts.md")
target_link_libraries(client_test PRIVATE
  sandglass_client nlohmann_json::nlohmann_json GTest::gtest_main GTest::gmock)
add_dependencies(client_test sandglass)

# Talking to models, against an HTTP server in the test's process.
add_executable(llm_test
  client/anthropic_test.cc
  client/scripted_server.cc
  client/llm_client_test.cc
  client/llm_parts_test.cc
  client/llm_script.cc
  client/openai_chat_test.cc
  client/openai_responses_test.cc
  client/sse_test.cc)
target_link_libraries(llm_test PRIVATE
  sandglass_client nlohmann_json::nlohmann_json GTest::gtest_main GTest::gmock)
include(GoogleTest)
gtest_discover_tests(client_test DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 60)
gtest_discover_tests(llm_test DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 60)
