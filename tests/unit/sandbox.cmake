add_executable(sandbox_unit_test
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/os/asked_calls_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/os/close_aside_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/jail/counter_files_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/wire/descriptors_lost_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/host/disks_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_archive_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_calls_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_concurrent_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_faults_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_hostile_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_move_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_round_trip_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_search_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_shortage_test.cc
  ${PROJECT_SOURCE_DIR}/tests/security/host/fault_injector.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/jail/backlog_bytes_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/files/file_agent_track_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/host/host_advice_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/host/host_helpers_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/yard/yard_root_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/wire/egress_ports_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/yard/java_key_store_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/os/landlock_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/jail/lock_census_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/jail/netlink_bytes_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/os/open_beneath_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/os/process_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/spawner/retry_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/spawner/spawner_request_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/jail/untrusted_events_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/jail/untrusted_session_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/wire/uid_slice_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/sandbox/yard/yard_port_test.cc)
target_link_libraries(sandbox_unit_test PRIVATE
  sandglass_sandbox GTest::gmock_main)
sandglass_add_suites(sandbox_unit_test sandbox. TIMEOUT 120)
