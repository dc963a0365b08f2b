# Programs that attack, each with its exact end and a look at the host and at
# somebody else's run. They need root.

# Sent into jails; static, so that it needs nothing there.
add_executable(sandglass_hostile
  payloads/hostile/arguments.cc
  payloads/hostile/bombs.cc
  payloads/hostile/bombs_kernel.cc
  payloads/hostile/calls.cc
  payloads/hostile/covert.cc
  payloads/hostile/covert_channels.cc
  payloads/hostile/files.cc
  payloads/hostile/headless.cc
  payloads/hostile/main.cc
  payloads/hostile/sockets.cc
  payloads/hostile/storms.cc
  payloads/hostile/swap.cc)
target_link_libraries(sandglass_hostile PRIVATE sandglass_options)
target_compile_options(sandglass_hostile PRIVATE -fno-sanitize=all -fno-exceptions -fno-rtti -fno-stack-protector)
target_link_options(sandglass_hostile PRIVATE -static -s -fno-sanitize=all)

add_executable(sandglass_security_test
  support/subprocess.cc
  security/hostile/covert_test.cc
  security/posture/daemon_walls_test.cc
  security/hostile/hostile_bombs_test.cc
  security/hostile/hostile_calls_test.cc
  security/hostile/hostile_directories_test.cc
  security/hostile/hostile_clients_test.cc
  security/hostile/hostile_files_race_test.cc
  security/hostile/hostile_files_test.cc
  security/hostile/hostile_fixture.cc
  security/hostile/hostile_headless_test.cc
  security/hostile/hostile_output_test.cc
  security/hostile/hostile_scripts_test.cc
  security/hostile/hostile_sockets_test.cc
  security/host/host_meter.cc
  security/host/host_watch.cc
  security/host/host_leaks_test.cc
  security/host/host_watch_test.cc
  security/hostile/neighbour.cc
  security/posture/start_order_test.cc
  security/posture/start_watch.cc)
target_link_libraries(sandglass_security_test PRIVATE
  sandglass_test_support sandglass_sandbox_os sandglass_policy_seccomp sandglass_client
  nlohmann_json::nlohmann_json GTest::gtest_main)
target_compile_definitions(sandglass_security_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  HOSTILE_PATH="$<TARGET_FILE:sandglass_hostile>")
add_dependencies(sandglass_security_test
  sandglass sandglass_hostile sandglassd sandglass-spawner)

# A suite is one test of ctest: its cases share a daemon, its inventory of the
# host and hundreds of short runs.
function(sandglass_security_test name labels filter)
  add_test(NAME security.${name} COMMAND sandglass_security_test --gtest_brief=1
    "--gtest_filter=${filter}")
  set_tests_properties(security.${name} PROPERTIES LABELS "${labels}" TIMEOUT 400
    RESOURCE_LOCK full_machine COST 800 FIXTURES_REQUIRED languages
    # A name that no suite has any more.
    FAIL_REGULAR_EXPRESSION "[^0-9]0 tests from 0 test suites ran")
endfunction()
function(sandglass_security_suite name)
  sandglass_security_test(${name} security "${name}.*:*/${name}.*")
endfunction()
# With every change what the filter chooses, each night the whole suite.
function(sandglass_security_part name filter)
  sandglass_security_test(${name} "security;part" "${filter}")
  sandglass_security_test(${name}Whole "security;nightly" "${name}.*:*/${name}.*")
endfunction()
foreach(suite Covert DaemonWalls HostLeaks HostileBombs HostileCalls
        HostileCallsInAllWays HostileCallsPolicy HostileClients
        HostileDirectories HostileFilesRace HostileHeadless HostileOutput
        StartOrder)
  sandglass_security_suite(${suite})
endforeach()
# From a fresh process and from one of an interpreter that waited; each night from
# those of all interpreters.
foreach(suite HostileFiles HostileSockets)
  sandglass_security_part(${suite} "*/${suite}.*/exec:*/${suite}.*/python")
endforeach()
# Of what the others look at the host with.
sandglass_security_test(HostWatchTest "security;nightly" "HostWatchTest.*")
# Each language's attack alone; several of it at once in one language.
sandglass_security_part(HostileScripts
  "*/HostileScripts.NoAttackSucceeds/*:*/HostileScripts.NoAttackSucceedsAmongManyAtOnce/python")

# They measure what the whole host uses, or what one jail notices of another.
set_tests_properties(security.Covert security.HostileBombs PROPERTIES
  RUN_SERIAL TRUE)

# What runs out is an answer to one call.
add_executable(sandglass_shortage_test
  security/host/fault_injector.cc
  security/host/faults_test.cc
  security/host/open_files_test.cc)
target_link_libraries(sandglass_shortage_test PRIVATE
  sandglass_test_support sandglass_sandbox_os GTest::gtest_main)
target_compile_definitions(sandglass_shortage_test PRIVATE
  SANDGLASSD="$<TARGET_FILE:sandglassd>")
add_dependencies(sandglass_shortage_test sandglassd sandglass-spawner)
sandglass_add_suites(sandglass_shortage_test security.
  LABELS security TIMEOUT 600 COST 800
  FIXTURES_REQUIRED languages)
