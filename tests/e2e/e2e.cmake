# Tests against the real daemon, with real jails over real gRPC. They need root.

add_library(sandglass_test_support STATIC
  support/client.cc
  support/daemon.cc
  support/host_image.cc
  support/daemon_fixture.cc
  support/execs.cc
  support/expectation.cc
  support/files.cc
  support/idle_jails.cc
  support/matchers.cc
  support/posture_facts.cc
  support/posture_files.cc
  support/posture_places.cc
  support/posture_scene.cc
  support/prestart.cc
  support/process.cc
  support/programs.cc
  support/durable.cc
  support/sessions.cc
  support/slowdown.cc
  support/text.cc
  support/unix_sockets.cc
  support/wait.cc
  support/warm.cc
  support/workloads.cc)
target_link_libraries(sandglass_test_support PUBLIC
  sandglass_options sandglass_api_proto gRPC::grpc++ GTest::gtest GTest::gmock
  absl::status absl::statusor absl::strings absl::time
  nlohmann_json::nlohmann_json)
target_compile_definitions(sandglass_test_support PRIVATE
  SANDGLASSD_PATH="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sandglassd"
  # All test daemons prepare languages once, not each.
  TEST_CACHE_DIR="${CMAKE_BINARY_DIR}/test-cache"
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# A client that a test kills.
add_executable(sandglass_stuck_client payloads/stuck_client.cc)
target_link_libraries(sandglass_stuck_client PRIVATE sandglass_test_support)

add_executable(sandglass_e2e_test
  client/subprocess.cc
  e2e/audit_test.cc
  e2e/bad_input_test.cc
  e2e/bad_request_test.cc
  e2e/callers_apart_test.cc
  e2e/compile_cache_test.cc
  e2e/compile_test.cc
  e2e/conformance_test.cc
  e2e/crash_test.cc
  e2e/data_analysis_test.cc
  e2e/disk_cap_test.cc
  e2e/doctor_test.cc
  e2e/files_test.cc
  e2e/founding_test.cc
  e2e/host_limits_test.cc
  e2e/hostile_test.cc
  e2e/image_test.cc
  e2e/inside_test.cc
  e2e/limits_test.cc
  e2e/load_test.cc
  e2e/policy_languages_test.cc
  e2e/policy_reload_test.cc
  e2e/policy_test.cc
  e2e/pool_test.cc
  e2e/prepared_headers_test.cc
  e2e/prestart_faults_test.cc
  e2e/prestart_test.cc
  e2e/response_test.cc
  e2e/service_test.cc
  e2e/session_cli_test.cc
  e2e/session_faults_test.cc
  e2e/session_files_test.cc
  e2e/session_life_test.cc
  e2e/session_languages_test.cc
  e2e/session_many_test.cc
  e2e/session_test.cc
  e2e/stream_test.cc
  e2e/warm_languages.cc
  e2e/warm_science_test.cc
  e2e/warm_test.cc
  e2e/two_daemons_test.cc
  e2e/workloads_test.cc
  security/forged_numbers_test.cc
  security/judges_test.cc
  security/posture_kinds.cc
  security/posture_test.cc
  security/shadowed_names_test.cc
  security/tamper_test.cc)
target_link_libraries(sandglass_e2e_test PRIVATE
  sandglass_client sandglass_test_support GTest::gtest_main)
target_compile_definitions(sandglass_e2e_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  PROBE_PATH="$<TARGET_FILE:sandglass-probe>"
  STUCK_CLIENT_PATH="$<TARGET_FILE:sandglass_stuck_client>")
set_source_files_properties(security/posture_test.cc PROPERTIES
  COMPILE_DEFINITIONS "POSTURE_DIR=\"${PROJECT_SOURCE_DIR}/tests/security/posture\";CACHE_DIR=\"${CMAKE_BINARY_DIR}/test-cache\"")
add_dependencies(sandglass_e2e_test sandglass-probe sandglass_stuck_client)
# Commands in sessions, apart, since they are many.
add_executable(sandglass_exec_test
  e2e/exec_faults_test.cc
  e2e/exec_terminal_test.cc
  e2e/exec_test.cc
  e2e/redaction_test.cc)
target_link_libraries(sandglass_exec_test PRIVATE
  sandglass_test_support GTest::gtest_main)
target_compile_definitions(sandglass_exec_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# What is on record of commands, consent on a terminal, the tools of models, and
# the agent with a model that is an HTTP server of the tests.
add_executable(sandglass_consent_test
  client/scripted_server.cc
  client/subprocess.cc
  e2e/agent_consent_test.cc
  e2e/agent_fixture.cc
  e2e/agent_hard_test.cc
  e2e/agent_test.cc
  e2e/consent_test.cc
  e2e/metrics_test.cc
  e2e/on_record_test.cc
  e2e/operator_test.cc
  e2e/toolbox_test.cc)
target_link_libraries(sandglass_consent_test PRIVATE
  sandglass_client sandglass_test_support GTest::gtest_main)
target_compile_definitions(sandglass_consent_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  TEST_CACHE_DIR="${CMAKE_BINARY_DIR}/test-cache")

# System call filters as operators change them.
add_executable(sandglass_filters_test e2e/seccomp_test.cc)
target_link_libraries(sandglass_filters_test PRIVATE
  sandglass_test_support GTest::gtest_main)
target_compile_definitions(sandglass_filters_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# Two accounts of one daemon.
add_executable(sandglass_callers_test
  e2e/callers_test.cc
  support/caller_as.cc)
target_link_libraries(sandglass_callers_test PRIVATE
  sandglass_test_support GTest::gtest_main)

# The daemon is started by path; the tests below tests/e2e can be built alone.
foreach(target sandglassd sandglass-spawner sandglass-egress sandglass)
  if(TARGET ${target})
    add_dependencies(sandglass_e2e_test ${target})
    add_dependencies(sandglass_consent_test ${target})
    add_dependencies(sandglass_exec_test ${target})
    add_dependencies(sandglass_filters_test ${target})
    add_dependencies(sandglass_callers_test ${target})
  endif()
endforeach()

# Copies of sessions' files: on the disk, as archives, in other sessions. And what
# hostile code makes of a session.
add_executable(sandglass_durable_test
  e2e/session_durable_exec_test.cc
  e2e/session_durable_faults_test.cc
  e2e/session_odd_files_test.cc
  e2e/session_durable_test.cc
  e2e/session_fork_test.cc
  e2e/session_hostile_test.cc
  e2e/session_snapshot_test.cc)
target_link_libraries(sandglass_durable_test PRIVATE
  sandglass_test_support GTest::gtest_main)
target_compile_definitions(sandglass_durable_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
foreach(target sandglassd sandglass-spawner sandglass-egress)
  if(TARGET ${target})
    add_dependencies(sandglass_durable_test ${target})
  endif()
endforeach()
sandglass_add_suites(sandglass_durable_test e2e.
  LABELS e2e TIMEOUT 1200 RESOURCE_LOCK sandglassd COST 800
  FIXTURES_REQUIRED languages)

# The lock keeps tests from slowing each other on small machines.
sandglass_add_suites(sandglass_e2e_test e2e.
  LABELS e2e TIMEOUT 1200 RESOURCE_LOCK sandglassd COST 800
  FIXTURES_REQUIRED languages)

sandglass_add_suites(sandglass_consent_test e2e.
  LABELS e2e TIMEOUT 1200 RESOURCE_LOCK sandglassd COST 800
  FIXTURES_REQUIRED languages)

sandglass_add_suites(sandglass_callers_test e2e.
  LABELS e2e TIMEOUT 1200 RESOURCE_LOCK sandglassd COST 800
  FIXTURES_REQUIRED languages)

sandglass_add_suites(sandglass_filters_test e2e.
  LABELS e2e TIMEOUT 1200 RESOURCE_LOCK sandglassd COST 800
  FIXTURES_REQUIRED languages)

sandglass_add_suites(sandglass_exec_test e2e.
  LABELS e2e TIMEOUT 1200 RESOURCE_LOCK sandglassd COST 800
  FIXTURES_REQUIRED languages)

# Programs that reach what their profile allows, in a network namespace of the
# tests' own.
add_executable(sandglass_network_test
  e2e/network_fixture.cc
  e2e/network_session_test.cc
  e2e/network_test.cc
  e2e/package_manager_test.cc
  egress/tls_world.cc
  egress/world.cc)
target_link_libraries(sandglass_network_test PRIVATE
  sandglass_test_support sandglass_egress_wire sandglass_os OpenSSL::SSL
  GTest::gmock)
target_compile_definitions(sandglass_network_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
if(TARGET sandglassd)
  add_dependencies(sandglass_network_test sandglassd)
endif()
sandglass_add_suites(sandglass_network_test e2e.
  LABELS e2e TIMEOUT 600 RESOURCE_LOCK sandglassd COST 800
  FIXTURES_REQUIRED languages)

# Libraries that are installed from registries in a network namespace of the
# tests' own.
add_executable(sandglass_library_test
  client/subprocess.cc
  e2e/library_bad_test.cc
  e2e/library_faults_test.cc
  e2e/library_fixture.cc
  e2e/library_layers_test.cc
  e2e/library_machine_test.cc
  e2e/library_test.cc
  egress/tls_world.cc
  egress/world.cc)
target_link_libraries(sandglass_library_test PRIVATE
  sandglass_client sandglass_test_support sandglass_egress_wire sandglass_os
  OpenSSL::SSL GTest::gmock)
target_compile_definitions(sandglass_library_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
foreach(target sandglassd sandglass)
  if(TARGET ${target})
    add_dependencies(sandglass_library_test ${target})
  endif()
endforeach()
sandglass_add_suites(sandglass_library_test e2e.
  LABELS e2e TIMEOUT 600 RESOURCE_LOCK sandglassd COST 800
  FIXTURES_REQUIRED languages)

# Languages are prepared before any test looks at the time.
add_test(NAME e2e.prepare COMMAND sandglass_e2e_test
  --gtest_filter=Compile.WhatIsPreparedCanOnlyBeRead)
set_tests_properties(e2e.prepare PROPERTIES LABELS e2e TIMEOUT 600
  RESOURCE_LOCK sandglassd FIXTURES_SETUP languages)

# The same programs where nothing waits for them: each run makes its jail and
# starts its interpreter.
add_test(NAME e2e.WithoutPool COMMAND sandglass_e2e_test --gtest_brief=1
  "--gtest_filter=BadCompile*:BadRequest*:Compile.*:Crash*:Files*:FoundingPrograms*:Hostile*:Inside*:LimitsTest*:Load*:Response*:Service*:Stream*:*Posture*/exec:*Posture*/compile:PostureOfServer*:*BadInput*/python:*/Conformance*/python-*AnInitThatWaits*")
set_tests_properties(e2e.WithoutPool PROPERTIES
  ENVIRONMENT "SANDGLASS_TEST_CONFIG={\"pool\": {\"floor\": 0}, \"compile_cache\": {\"max_bytes\": 0}}"
  LABELS e2e TIMEOUT 600 RESOURCE_LOCK sandglassd COST 800
  FIXTURES_REQUIRED languages)

# The same daemon as an ordinary user starts it. His own processes' posture is
# his own: groups of this machine, his environment.
file(MAKE_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/tests/support/rootless_daemon.sh
  ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/rootless_daemon.sh SYMBOLIC)
add_test(NAME e2e.Rootless COMMAND sandglass_e2e_test --gtest_brief=1
  "--gtest_filter=FoundingPrograms*:LimitsTest*:*Posture*:Hostile*:Inside*:Crash*-PostureOfServer*")
set_tests_properties(e2e.Rootless PROPERTIES
  ENVIRONMENT SANDGLASS_TEST_DAEMON=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/rootless_daemon.sh
  LABELS e2e TIMEOUT 600 RESOURCE_LOCK sandglassd COST 800)
