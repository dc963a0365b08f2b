# Faults under load, and runs without end, with daemons of their own.
add_executable(sandglass_chaos_test
  support/subprocess.cc
  chaos/census.cc
  chaos/chaos_test.cc
  chaos/diary.cc
  chaos/diary_test.cc
  chaos/faults.cc
  chaos/mixed_load.cc
  chaos/soak_test.cc
  chaos/world.cc)
target_link_libraries(sandglass_chaos_test PRIVATE
  sandglass_client sandglass_test_support sandglass_sandbox_os GTest::gmock)
target_compile_definitions(sandglass_chaos_test PRIVATE
  SANDGLASS_BINARY="$<TARGET_FILE:sandglass>"
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  STUCK_CLIENT_PATH="$<TARGET_FILE:sandglass_stuck_client>"
  TEST_CACHE_DIR="${CMAKE_BINARY_DIR}/test-cache")
foreach(target sandglassd sandglass-spawner sandglass-egress sandglass
        sandglass_stuck_client)
  if(TARGET ${target})
    add_dependencies(sandglass_chaos_test ${target})
  endif()
endforeach()
sandglass_add_suites(sandglass_chaos_test e2e. NIGHTLY Chaos Soak
  LABELS e2e TIMEOUT 1200 RESOURCE_LOCK full_machine COST 800
  FIXTURES_REQUIRED languages)
# One fault of each sort with every change: a process that dies, a full disk, too
# many processes, clients that go.
add_test(NAME e2e.ChaosOfEachSort COMMAND sandglass_chaos_test
  --gtest_filter=Chaos.TheDaemonSurvivesAKilledSpawner:Chaos.TheDaemonSurvivesAFullStateDisk:Chaos.TheDaemonSurvivesALackOfProcesses:Chaos.TheDaemonSurvivesClientsThatGoInMidCall)
set_tests_properties(e2e.ChaosOfEachSort PROPERTIES
  LABELS "e2e;part" TIMEOUT 600 RESOURCE_LOCK full_machine COST 800
  FIXTURES_REQUIRED languages)
