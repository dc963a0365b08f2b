# Real jails without the gRPC front; as root, on every CI run.
add_executable(jail_test ${CMAKE_SOURCE_DIR}/tests/jail/run_job_test.cc)
target_compile_definitions(jail_test PRIVATE
  SANDGLASS_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
  SANDGLASS_SPAWNER="$<TARGET_FILE:sandglass-spawner>")
target_link_libraries(jail_test PRIVATE sandglass_server_job GTest::gtest)
add_dependencies(jail_test sandglass-spawner)
add_test(NAME jail_test COMMAND jail_test)
set_tests_properties(jail_test PROPERTIES LABELS "jail" TIMEOUT 120)

# The same with traced calls, and under filters with additions.
add_executable(traced_jail_test
  ${CMAKE_SOURCE_DIR}/tests/jail/traced_job_test.cc)
target_compile_definitions(traced_jail_test PRIVATE
  SANDGLASS_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
  SANDGLASS_SPAWNER="$<TARGET_FILE:sandglass-spawner>")
target_link_libraries(traced_jail_test PRIVATE sandglass_server_job
  PkgConfig::SECCOMP GTest::gmock)
add_dependencies(traced_jail_test sandglass-spawner)
add_test(NAME traced_jail_test COMMAND traced_jail_test)
set_tests_properties(traced_jail_test PROPERTIES LABELS "jail" TIMEOUT 300)

# Sessions' jails. The spawner has a file agent of the tests' own.
sandglass_add_spawner(sandglass-spawner-of-tests
  ${CMAKE_SOURCE_DIR}/tests/jail/reading_agent.cc)
add_executable(session_jail_test
  ${CMAKE_SOURCE_DIR}/tests/jail/layer_test.cc
  ${CMAKE_SOURCE_DIR}/tests/jail/session_files_test.cc
  ${CMAKE_SOURCE_DIR}/tests/jail/session_fixture.cc
  ${CMAKE_SOURCE_DIR}/tests/jail/session_kill_test.cc
  ${CMAKE_SOURCE_DIR}/tests/jail/session_process_test.cc
  ${CMAKE_SOURCE_DIR}/tests/jail/session_terminal_test.cc
  ${CMAKE_SOURCE_DIR}/tests/jail/yard_stock_test.cc)
target_compile_definitions(session_jail_test PRIVATE
  SANDGLASS_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
  SANDGLASS_SPAWNER="$<TARGET_FILE:sandglass-spawner-of-tests>")
target_link_libraries(session_jail_test PRIVATE sandglass_sandbox
  sandglass_policy sandglass_policy_seccomp GTest::gmock absl::strings)
add_dependencies(session_jail_test sandglass-spawner-of-tests
  sandglass-zygote-python)
add_test(NAME session_jail_test COMMAND session_jail_test)
set_tests_properties(session_jail_test PROPERTIES LABELS "jail" TIMEOUT 300)

# Jails that are made at the same time, by spawners one of whose steps is slow.
sandglass_add_spawner(sandglass-spawner-with-a-slow-step
  ${CMAKE_SOURCE_DIR}/tests/jail/slow_step.cc
  $<TARGET_OBJECTS:sandglass_sandbox_file_agent>)
target_link_options(sandglass-spawner-with-a-slow-step PRIVATE
  -Wl,--wrap=_ZN9sandglass7sandbox9StepClock5BeginENS0_9SetupStepE)
add_executable(slow_step_test
  ${CMAKE_SOURCE_DIR}/tests/jail/session_fixture.cc
  ${CMAKE_SOURCE_DIR}/tests/jail/slow_step_test.cc)
target_compile_definitions(slow_step_test PRIVATE
  SANDGLASS_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
  SANDGLASS_SPAWNER="$<TARGET_FILE:sandglass-spawner-with-a-slow-step>")
target_link_libraries(slow_step_test PRIVATE sandglass_sandbox
  sandglass_policy sandglass_policy_seccomp GTest::gmock absl::strings)
add_dependencies(slow_step_test sandglass-spawner-with-a-slow-step
  sandglass-zygote-python)
add_test(NAME slow_step_test COMMAND slow_step_test)
set_tests_properties(slow_step_test PROPERTIES LABELS "jail" TIMEOUT 300)

# The process that reads the policy again, as root.
add_executable(policy_reader_test
  ${CMAKE_SOURCE_DIR}/tests/jail/policy_reader_test.cc)
target_compile_definitions(policy_reader_test PRIVATE
  SANDGLASS_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_libraries(policy_reader_test PRIVATE sandglass_server
  GTest::gmock_main)
add_test(NAME policy_reader_test COMMAND policy_reader_test)
set_tests_properties(policy_reader_test PROPERTIES LABELS "jail" TIMEOUT 120)

# The processes that unpack what installs left, as root.
add_executable(unpack_helper_test
  ${CMAKE_SOURCE_DIR}/tests/jail/unpack_helper_test.cc
  ${CMAKE_SOURCE_DIR}/tests/jail/unpack_walls_test.cc)
target_link_libraries(unpack_helper_test PRIVATE sandglass_server GTest::gmock)
add_test(NAME unpack_helper_test COMMAND unpack_helper_test)
set_tests_properties(unpack_helper_test PROPERTIES LABELS "jail" TIMEOUT 120)
