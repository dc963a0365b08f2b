# Scenarios for the daemon's channels inwards, whose other end was taken over
# whole. As root: the spawner's part starts real ones.
add_executable(sandglass_protocol_test
  security/protocol/protocol_collect_test.cc
  security/protocol/protocol_init_test.cc
  security/protocol/protocol_jail.cc
  security/protocol/protocol_order_test.cc
  security/protocol/protocol_run.cc
  security/protocol/protocol_runner_test.cc
  security/protocol/protocol_spawner_test.cc)
target_link_libraries(sandglass_protocol_test PRIVATE
  sandglass_server GTest::gtest_main)
target_compile_definitions(sandglass_protocol_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  SANDGLASS_SPAWNER="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sandglass-spawner")
# These wait as long as others do, at another moment.
set(slow "InitSilence.SilenceOnceInitWasReadyEndsInTime:Collection.OneFileASecondEndsWithTheDaemonsPatience")
gtest_discover_tests(sandglass_protocol_test
  TEST_PREFIX "security."
  TEST_FILTER "-${slow}"
  TEST_LIST sandglass_protocol_tests
  DISCOVERY_TIMEOUT 60
  PROPERTIES LABELS security TIMEOUT 120)
gtest_discover_tests(sandglass_protocol_test
  TEST_PREFIX "security."
  TEST_FILTER "${slow}"
  TEST_LIST sandglass_protocol_nightly_tests
  DISCOVERY_TIMEOUT 60
  PROPERTIES LABELS nightly TIMEOUT 120)

# The same from inside real jails, through the daemon.
add_executable(sandglass_program_protocol_test
  security/protocol/protocol_program_test.cc)
target_link_libraries(sandglass_program_protocol_test PRIVATE
  sandglass_test_support GTest::gtest_main)
add_dependencies(sandglass_program_protocol_test sandglassd sandglass-spawner)
gtest_discover_tests(sandglass_program_protocol_test
  TEST_PREFIX "security."
  DISCOVERY_TIMEOUT 60
  PROPERTIES LABELS security TIMEOUT 200 COST 800
    FIXTURES_REQUIRED languages)
