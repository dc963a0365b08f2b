# Tests against the real daemon, with real jails over real gRPC. They need root.

add_library(sandglass_test_support STATIC
  support/daemon/client.cc
  support/daemon/daemon.cc
  support/host/host_image.cc
  support/daemon/daemon_fixture.cc
  support/calls/execs.cc
  support/calls/expectation.cc
  support/calls/files.cc
  support/calls/idle_jails.cc
  support/matchers.cc
  support/posture/posture_facts.cc
  support/posture/posture_files.cc
  support/posture/posture_places.cc
  support/posture/posture_scene.cc
  support/calls/prestart.cc
  support/host/process.cc
  support/host/programs.cc
  support/calls/durable.cc
  support/calls/sessions.cc
  support/slowdown.cc
  support/text.cc
  support/daemon/unix_sockets.cc
  support/wait.cc
  support/calls/warm.cc
  support/host/workloads.cc
  support/host/ancestor.cc)
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
  support/subprocess.cc
  e2e/operators/audit_test.cc
  e2e/runs/bad_input_test.cc
  e2e/runs/bad_request_test.cc
  e2e/runs/callers_apart_test.cc
  e2e/compile/compile_cache_test.cc
  e2e/compile/compile_test.cc
  e2e/runs/conformance_test.cc
  e2e/runs/crash_test.cc
  e2e/sessions/data_analysis_test.cc
  e2e/runs/disk_cap_test.cc
  e2e/operators/doctor_test.cc
  e2e/sessions/files_test.cc
  e2e/runs/founding_test.cc
  e2e/runs/host_limits_test.cc
  e2e/runs/hostile_test.cc
  e2e/warm/image_test.cc
  e2e/runs/inside_test.cc
  e2e/runs/limits_test.cc
  e2e/runs/load_test.cc
  e2e/policy/policy_languages_test.cc
  e2e/policy/policy_reload_test.cc
  e2e/policy/policy_test.cc
  e2e/warm/pool_test.cc
  e2e/compile/prepared_headers_test.cc
  e2e/warm/prestart_faults_test.cc
  e2e/warm/prestart_test.cc
  e2e/runs/response_test.cc
  e2e/runs/service_test.cc
  e2e/sessions/session_cli_test.cc
  e2e/sessions/session_faults_test.cc
  e2e/sessions/session_files_test.cc
  e2e/sessions/session_life_test.cc
  e2e/sessions/session_languages_test.cc
  e2e/sessions/session_many_test.cc
  e2e/sessions/session_test.cc
  e2e/runs/stream_test.cc
  e2e/warm/warm_languages.cc
  e2e/warm/warm_science_test.cc
  e2e/warm/warm_test.cc
  e2e/runs/two_daemons_test.cc
  e2e/runs/workloads_test.cc
  security/hostile/forged_numbers_test.cc
  security/hostile/judges_test.cc
  security/posture/posture_kinds.cc
  security/posture/posture_test.cc
  security/hostile/shadowed_names_test.cc
  security/hostile/tamper_test.cc
  e2e/sessions/run_results_test.cc
  e2e/sessions/session_runtimes_test.cc
  e2e/runs/hints_test.cc
  e2e/warm/network_reuse_test.cc
  e2e/runs/machine_changes_test.cc
  e2e/operators/up_test.cc
  e2e/policy/tenants_test.cc)
target_link_libraries(sandglass_e2e_test PRIVATE
  sandglass_client sandglass_test_support GTest::gtest_main)
target_compile_definitions(sandglass_e2e_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  PROBE_PATH="$<TARGET_FILE:sandglass-probe>"
  STUCK_CLIENT_PATH="$<TARGET_FILE:sandglass_stuck_client>")
set_source_files_properties(security/posture/posture_test.cc PROPERTIES
  COMPILE_DEFINITIONS "POSTURE_DIR=\"${PROJECT_SOURCE_DIR}/tests/security/posture\";CACHE_DIR=\"${CMAKE_BINARY_DIR}/test-cache\"")
add_dependencies(sandglass_e2e_test sandglass-probe sandglass_stuck_client)
# Commands in sessions, apart, since they are many.
add_executable(sandglass_exec_test
  e2e/exec/exec_faults_test.cc
  e2e/exec/exec_terminal_test.cc
  e2e/exec/exec_test.cc
  e2e/exec/port_test.cc
  e2e/policy/redaction_test.cc
  e2e/exec/cpu_turn_test.cc)
target_link_libraries(sandglass_exec_test PRIVATE
  sandglass_test_support GTest::gtest_main)
target_compile_definitions(sandglass_exec_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# What is on record of commands, consent on a terminal, the tools of models, and
# the agent with a model that is an HTTP server of the tests.
add_executable(sandglass_consent_test
  support/scripted_server.cc
  support/subprocess.cc
  e2e/agent/agent_consent_test.cc
  e2e/agent/agent_fixture.cc
  e2e/agent/agent_hard_test.cc
  e2e/agent/agent_test.cc
  e2e/policy/consent_test.cc
  e2e/operators/metrics_test.cc
  e2e/operators/on_record_test.cc
  e2e/operators/operator_test.cc
  e2e/agent/toolbox_test.cc)
target_link_libraries(sandglass_consent_test PRIVATE
  sandglass_client sandglass_test_support GTest::gtest_main)
target_compile_definitions(sandglass_consent_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  TEST_CACHE_DIR="${CMAKE_BINARY_DIR}/test-cache")

# System call filters as operators change them.
add_executable(sandglass_filters_test e2e/policy/seccomp_test.cc)
target_link_libraries(sandglass_filters_test PRIVATE
  sandglass_test_support GTest::gtest_main)
target_compile_definitions(sandglass_filters_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# Two accounts of one daemon.
add_executable(sandglass_callers_test
  e2e/runs/callers_test.cc
  support/calls/caller_as.cc)
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
  e2e/sessions/session_durable_exec_test.cc
  e2e/sessions/session_durable_faults_test.cc
  e2e/sessions/session_odd_files_test.cc
  e2e/sessions/session_durable_test.cc
  e2e/sessions/session_fork_test.cc
  e2e/sessions/session_hostile_test.cc
  e2e/sessions/session_snapshot_test.cc)
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
  PART
    # Without those that wait for a time limit of the daemon's.
    "HostileSession=HostileSession.*-HostileSession.HolesWithoutEnd*"
    "All/HostileKernelStart=All/HostileKernelStart.*-All/HostileKernelStart.*/Drops"
  LABELS e2e TIMEOUT 1200 COST 800
  FIXTURES_REQUIRED languages)

sandglass_add_suites(sandglass_e2e_test e2e.
  NIGHTLY Crowd Languages/PrestartConformance WholeImage SessionDisk
  ONE_AT_A_TIME Crash Crowd Hostile HostLimits Judges/StressNg LimitsTest Load ManySessions
    Pool SessionsUnderPressure SmallDaemon
  PART
    # Without those that wait until a server or a helper that hangs is given up.
    "Crash=Crash.*-Crash.*ThatHangs*"
    # What is kept, what is not, and for whom.
    "CompileCache=CompileCache.TheSecondAnswer*:CompileCache.AnyOtherChange*:CompileCache.ProfilesShare*:CompileCache.JailsDont*:CompileCache.OnlySuccessful*:CompileCache.ADamagedFile*"
    # Without a collection of cells, which the kernels' own tests have.
    "ManySessions=ManySessions.*-ManySessions.EarlierRecordedCells*"
    "Languages/WarmFaults=Languages/WarmFaults.*/python"
  LABELS e2e TIMEOUT 1200 COST 800
  FIXTURES_REQUIRED languages)

sandglass_add_suites(sandglass_consent_test e2e.
  LABELS e2e TIMEOUT 1200 COST 800
  FIXTURES_REQUIRED languages)

sandglass_add_suites(sandglass_callers_test e2e. ONE_AT_A_TIME Callers
  LABELS e2e TIMEOUT 1200 COST 800
  FIXTURES_REQUIRED languages)

sandglass_add_suites(sandglass_filters_test e2e.
  LABELS e2e TIMEOUT 1200 COST 800
  FIXTURES_REQUIRED languages)

sandglass_add_suites(sandglass_exec_test e2e.
  PART
    # Without a thousand commands in a row, and the client that is waited for.
    "ExecFaults=ExecFaults.*-ExecFaults.AThousandCommandsInARowEndWithTheirCodes:ExecFaults.AClientThatNeverReadsIsGivenUp"
  LABELS e2e TIMEOUT 1200 COST 800
  FIXTURES_REQUIRED languages)

# Programs that reach what their profile allows, in a network namespace of the
# tests' own.
add_executable(sandglass_network_test
  e2e/network/network_fixture.cc
  e2e/network/network_session_test.cc
  e2e/network/network_test.cc
  e2e/libraries/package_manager_test.cc
  support/network/tls_world.cc
  support/network/world.cc)
target_link_libraries(sandglass_network_test PRIVATE
  sandglass_test_support sandglass_sandbox_egress_parse sandglass_sandbox_os OpenSSL::SSL
  GTest::gmock)
target_compile_definitions(sandglass_network_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
if(TARGET sandglassd)
  add_dependencies(sandglass_network_test sandglassd)
endif()
sandglass_add_suites(sandglass_network_test e2e.
  PART
    # One of each language and tool, one of them without the proxy's variables.
    "Network/EachClient=Network/EachClient.*/Curl:Network/EachClient.*/Wget:Network/EachClient.*/Urllib:Network/EachClient.*/UrllibWithoutProxy:Network/EachClient.*/NodeFetch:Network/EachClient.*/GoNetHttp:Network/EachClient.*/JavaHttpClient:Network/EachClient.*/RubyNetHttp:Network/EachClient.*/PerlSocket"
    # A tool, and libraries of two languages.
    "Network/EachTlsClient=Network/EachTlsClient.*/Curl:Network/EachTlsClient.*/Urllib:Network/EachTlsClient.*/NodeFetch"
    "Network/EachClientThatTrusts=Network/EachClientThatTrusts.*/Curl:Network/EachClientThatTrusts.*/Urllib:Network/EachClientThatTrusts.*/JavaHttpClient"
    "Network/EachManager=Network/EachManager.GetsAPackageThroughTheProxyThatItFinds/*:Network/EachManager.*/Pip"
  LABELS e2e TIMEOUT 600 COST 800
  FIXTURES_REQUIRED languages)

# Callers over TLS, with certificates and tokens.
add_executable(sandglass_remote_test
  e2e/remote/remote_fixture.cc
  e2e/remote/remote_test.cc
  support/network/tls_world.cc
  e2e/remote/remote_floods_test.cc
  e2e/remote/beside.cc
  e2e/remote/raw_caller.cc
  e2e/remote/remote_slow_test.cc
  e2e/remote/remote_wire_test.cc
  e2e/remote/revocation_test.cc
  e2e/remote/token_secrecy_test.cc
  e2e/remote/gateway_caller_test.cc)
target_link_libraries(sandglass_remote_test PRIVATE
  sandglass_server_edge sandglass_test_support sandglass_sandbox_os
  OpenSSL::SSL GTest::gmock_main)
target_compile_definitions(sandglass_remote_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>")
if(TARGET sandglassd)
  add_dependencies(sandglass_remote_test sandglassd)
endif()
sandglass_add_suites(sandglass_remote_test e2e.
  PART
    # Without strangers by the thousand, who are waited for.
    "RemoteSlow=RemoteSlow.HandshakesAndFirstWordsEndInTime"
  LABELS e2e TIMEOUT 300
  FIXTURES_REQUIRED languages)

# A gateway before real nodes.
add_executable(sandglass_gateway_test
  e2e/gateway/gateway_fixture.cc
  e2e/gateway/gateway_http_bad_test.cc
  e2e/gateway/gateway_http_test.cc
  e2e/gateway/gateway_ports_test.cc
  e2e/gateway/gateway_test.cc
  e2e/gateway/http_caller.cc
  e2e/remote/remote_fixture.cc
  support/network/tls_world.cc
  support/subprocess.cc)
target_link_libraries(sandglass_gateway_test PRIVATE
  nlohmann_json::nlohmann_json sandglass_client sandglass_server_base sandglass_test_support
  sandglass_sandbox_os OpenSSL::SSL GTest::gmock_main)
target_compile_definitions(sandglass_gateway_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_GATEWAY="$<TARGET_FILE:sandglass-gateway>")
foreach(target sandglassd sandglass-gateway)
  if(TARGET ${target})
    add_dependencies(sandglass_gateway_test ${target})
  endif()
endforeach()
sandglass_add_suites(sandglass_gateway_test e2e.
  LABELS e2e TIMEOUT 300
  FIXTURES_REQUIRED languages)

# Libraries that are installed from registries in a network namespace of the
# tests' own.
add_executable(sandglass_library_test
  support/subprocess.cc
  e2e/libraries/library_bad_test.cc
  e2e/libraries/library_faults_test.cc
  e2e/libraries/library_fixture.cc
  e2e/libraries/library_layers_test.cc
  e2e/libraries/library_machine_test.cc
  e2e/libraries/library_test.cc
  support/network/tls_world.cc
  support/network/world.cc)
target_link_libraries(sandglass_library_test PRIVATE
  sandglass_client sandglass_test_support sandglass_sandbox_egress_parse sandglass_sandbox_os
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
  NIGHTLY Registries/LibrariesOfTheMachine
  LABELS e2e TIMEOUT 600 COST 800
  FIXTURES_REQUIRED languages)

# Languages are prepared before any test looks at the time, by one daemon.
add_test(NAME e2e.prepare COMMAND sandglass_e2e_test
  --gtest_filter=Compile.WhatIsPreparedCanOnlyBeRead)
set_tests_properties(e2e.prepare PROPERTIES LABELS e2e TIMEOUT 600
  FIXTURES_SETUP languages)

# sandglass_add_repeat(NAME CHANGE-FILTER NIGHTLY-FILTER ENVIRONMENT): tests of
# sandglass_e2e_test in another setting. With every change the first filter's,
# which is the less, as e2e.NAME; each night the second's, as e2e.NAMEWhole.
function(sandglass_add_repeat name change nightly environment)
  add_test(NAME e2e.${name} COMMAND sandglass_e2e_test --gtest_brief=1
    "--gtest_filter=${change}")
  add_test(NAME e2e.${name}Whole COMMAND sandglass_e2e_test --gtest_brief=1
    "--gtest_filter=${nightly}")
  set_tests_properties(e2e.${name} e2e.${name}Whole PROPERTIES
    ENVIRONMENT "${environment}" TIMEOUT 600 COST 800)
  set_tests_properties(e2e.${name} PROPERTIES LABELS "e2e;part")
  set_tests_properties(e2e.${name}Whole PROPERTIES LABELS "e2e;nightly")
endfunction()

# The same programs where nothing waits for them: each run makes its jail and
# starts its interpreter.
sandglass_add_repeat(WithoutPool "FoundingPrograms*:Inside*:Response*:Stream*"
  "BadCompile*:BadRequest*:Compile.*:Crash*:Files*:FoundingPrograms*:Hostile*:Inside*:LimitsTest*:Load*:Response*:Service*:Stream*:*Posture*/exec:*Posture*/compile:PostureOfServer*:*BadInput*/python:*/Conformance*/python"
  "SANDGLASS_TEST_CONFIG={\"pool\": {\"floor\": 0}, \"compile_cache\": {\"max_bytes\": 0}}")
set_tests_properties(e2e.WithoutPool e2e.WithoutPoolWhole PROPERTIES
  FIXTURES_REQUIRED languages)

# The same daemon as an ordinary user starts it. His own processes' posture is
# his own: groups of this machine, his environment.
file(MAKE_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/tests/support/daemon/rootless_daemon.sh
  ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/rootless_daemon.sh SYMBOLIC)
sandglass_add_repeat(Rootless "FoundingPrograms*:Inside*:*Posture*/exec:Crash.AKilledDaemon*"
  "FoundingPrograms*:LimitsTest*:*Posture*:Hostile*:Inside*:Crash*-PostureOfServer*"
  SANDGLASS_TEST_DAEMON=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/rootless_daemon.sh)
