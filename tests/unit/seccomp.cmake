add_executable(seccomp_test
  unit/seccomp_evaluator_test.cc
  unit/seccomp_filter_test.cc
  unit/seccomp_kernel_test.cc
  unit/seccomp_policy_test.cc)
target_link_libraries(seccomp_test PRIVATE
  sandglass_seccomp PkgConfig::SECCOMP GTest::gtest_main)
target_compile_definitions(seccomp_test PRIVATE
  SANDGLASS_SECCOMP_DATA="${PROJECT_SOURCE_DIR}/policy/data/seccomp")
gtest_discover_tests(seccomp_test)

# Runs a command under a policy, for tries by hand and for tests of runtimes.
add_executable(under_filter support/under_filter.cc)
target_link_libraries(under_filter PRIVATE sandglass_seccomp)
