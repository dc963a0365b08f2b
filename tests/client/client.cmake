# The command line tool: its parts, and the binary against a daemon of our own
# in the test's process.
add_executable(client_test
  unit/client/connection/address_test.cc
  unit/client/agent/agent_parts_test.cc
  unit/client/toolbox/answer_text_test.cc
  unit/client/audit/audit_command_line_test.cc
  client/cli/audit_test.cc
  client/cli/copy_test.cc
  client/cli/daemon_test.cc
  client/cli/descriptors_test.cc
  client/cli/doctor_test.cc
  client/cli/exec_test.cc
  client/cli/fetch_test.cc
  client/cli/mcp_test.cc
  client/cli/operator_test.cc
  client/cli/rich_test.cc
  client/cli/run_test.cc
  client/cli/session_test.cc
  client/cli/shell_test.cc
  client/cli/signal_test.cc
  client/cli/terminal_test.cc
  client/cli/top_test.cc
  client/cli/trace_test.cc
  unit/client/cli/command_line_test.cc
  unit/client/doctor/doctor_test.cc
  unit/client/connection/error_text_test.cc
  unit/client/base/exit_codes_test.cc
  client/fake/fake_daemon.cc
  client/fake/fake_execs.cc
  client/fake/fake_files.cc
  client/fake/fake_operator.cc
  client/fake/fake_sessions.cc
  unit/client/run/fetch_writer_test.cc
  unit/client/run/language_guess_test.cc
  unit/client/layers/layer_commands_test.cc
  unit/client/toolbox/line_window_test.cc
  client/mcp/mcp_fixture.cc
  client/mcp/mcp_http_test.cc
  client/mcp/mcp_protocol_test.cc
  client/mcp/mcp_stdio_test.cc
  unit/client/operator/operator_command_line_test.cc
  unit/client/run/output_printer_test.cc
  unit/client/run/repeat_command_test.cc
  unit/client/run/result_files_test.cc
  unit/client/run/rich_printer_test.cc
  unit/client/run/run_request_test.cc
  unit/client/session/session_command_line_test.cc
  unit/client/cli/session_copy_options_test.cc
  unit/client/session/session_text_test.cc
  unit/client/operator/status_text_test.cc
  support/subprocess.cc
  unit/client/base/terminal_filter_test.cc
  unit/client/cli/text_commands_test.cc
  unit/client/base/text_fit_test.cc
  unit/client/toolbox/toolbox_test.cc
  unit/client/operator/top_screen_test.cc
  unit/client/connection/traceparent_test.cc
  unit/client/base/units_test.cc
  unit/client/base/usage_test.cc
  unit/client/run/verdict_line_test.cc
  unit/client/mcp/mcp_endpoint_test.cc
  unit/client/agent/conversation_repair_test.cc
  unit/client/service/up_text_test.cc
  unit/client/service/local_daemon_test.cc
  client/cli/completion_test.cc
  unit/client/terminal/inline_image_test.cc
  client/cli/json_test.cc
  client/cli/error_style_test.cc
  client/cli/locale_test.cc
  client/cli/cert_test.cc
  client/cli/remote_test.cc
  client/fake/tls_daemon.cc
  unit/client/connection/endpoint_test.cc)
target_compile_definitions(client_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_COMMAND_LINE_DOC="${PROJECT_SOURCE_DIR}/docs/command-line.md"
  SANDGLASS_SECURITY_DOC="${PROJECT_SOURCE_DIR}/docs/security.md"
  SANDGLASS_VERDICTS_DOC="${PROJECT_SOURCE_DIR}/docs/verdicts.md")
target_link_libraries(client_test PRIVATE
  sandglass_client nlohmann_json::nlohmann_json GTest::gtest_main GTest::gmock)
add_dependencies(client_test sandglass)

# Talking to models, against an HTTP server in the test's process.
add_executable(llm_test
  client/llm/anthropic_test.cc
  support/scripted_server.cc
  client/llm/llm_client_test.cc
  client/llm/llm_parts_test.cc
  client/llm/llm_script.cc
  client/llm/openai_chat_test.cc
  client/llm/openai_responses_test.cc
  client/llm/sse_test.cc)
target_link_libraries(llm_test PRIVATE
  sandglass_client nlohmann_json::nlohmann_json GTest::gtest_main GTest::gmock)
include(GoogleTest)
sandglass_add_suites(client_test client. TIMEOUT 120)
sandglass_add_suites(llm_test llm. TIMEOUT 120)
