add_executable(sandbox_unit_test
  ${PROJECT_SOURCE_DIR}/tests/unit/asked_calls_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/close_aside_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/counter_files_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/descriptors_lost_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/disks_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/file_agent_archive_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/file_agent_calls_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/file_agent_concurrent_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/file_agent_hostile_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/file_agent_round_trip_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/file_agent_search_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/backlog_bytes_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/file_agent_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/file_agent_track_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/host_advice_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/host_helpers_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/image_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/jail_doors_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/java_key_store_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/landlock_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/lock_census_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/netlink_bytes_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/open_beneath_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/process_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/retry_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/spawner_request_test.cc
  ${PROJECT_SOURCE_DIR}/sandbox/jail_doors.cc
  ${PROJECT_SOURCE_DIR}/sandbox/spawner/request.cc
  ${PROJECT_SOURCE_DIR}/sandbox/spawner/template_book.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/untrusted_events_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/untrusted_session_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/uid_slice_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/yard_port_test.cc)
target_link_libraries(sandbox_unit_test PRIVATE
  sandglass_file_agent sandglass_sandbox GTest::gmock_main)
gtest_discover_tests(sandbox_unit_test PROPERTIES TIMEOUT 60)
