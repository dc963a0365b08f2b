# The server without a sandbox: runs unprivileged with scripted runs.
add_executable(server_unit_test
  ${PROJECT_SOURCE_DIR}/tests/server/admission_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/approvals_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/audit_log_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/call_threads_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/canary_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/compile_cache_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/compile_key_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/config_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/connections_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/daemon_command_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/denied_calls_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/dispatcher_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/errors_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/event_loop_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/exec_output_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/file_results_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/host_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/inspection_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/jail_pool_stock_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/prestart_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/jail_network_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/jail_pool_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/kernel_protocol_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/languages_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/layer_admin_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/layer_builds_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/layer_damage_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/layer_store_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/layer_watch_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/library_checks_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/library_registry_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/watchdog_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/zip_entry_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/output_redaction_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/phases_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/place_check_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/policy_reload_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/policy_set_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/pool_targets_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/prepared_store_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/registry_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/response_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/fill_patience_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/isolation_canary_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/package_list_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/operations_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/run_audit_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/server_info_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/service_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/settings_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/session_record_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/session_store_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/session_table_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/supervisor_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/text_test.cc
  ${PROJECT_SOURCE_DIR}/tests/server/validate_test.cc)
target_link_libraries(server_unit_test PRIVATE
  sandglass_server GTest::gmock_main PkgConfig::LIBZIP)
target_compile_definitions(server_unit_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  SANDGLASSD="$<TARGET_FILE:sandglassd>")
add_dependencies(server_unit_test sandglassd)
include(GoogleTest)
gtest_discover_tests(server_unit_test PROPERTIES TIMEOUT 60)
