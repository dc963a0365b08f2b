include(GoogleTest)

set(SECCOMP_DATA ${PROJECT_SOURCE_DIR}/policy/data/seccomp)

add_executable(seccomp_test
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/seccomp/seccomp_additions_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/seccomp/seccomp_arguments_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/seccomp/seccomp_evaluator_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/seccomp/seccomp_filter_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/seccomp/seccomp_kernel_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/seccomp/seccomp_policy_test.cc)
target_link_libraries(seccomp_test PRIVATE
  sandglass_policy_seccomp PkgConfig::SECCOMP GTest::gtest_main)
target_compile_definitions(seccomp_test PRIVATE
  SANDGLASS_SECCOMP_DATA="${SECCOMP_DATA}")
sandglass_add_suites(seccomp_test seccomp. TIMEOUT 120)

# Runs a command under a policy: for tests of runtimes, and for tries by hand.
add_executable(under_filter ${PROJECT_SOURCE_DIR}/tests/support/filters/under_filter.cc)
target_link_libraries(under_filter PRIVATE sandglass_policy_seccomp)
# For evaluators that others wrote (tests/by_hand/judges.sh).
add_executable(filter_cases ${PROJECT_SOURCE_DIR}/tests/support/filters/filter_cases.cc)
target_link_libraries(filter_cases PRIVATE sandglass_policy_seccomp)
add_test(NAME Seccomp.PythonLibraryWorksUnderTheFilter
  COMMAND under_filter ${SECCOMP_DATA} default
          /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/support/filters/stdlib_tour.py)
set_tests_properties(Seccomp.PythonLibraryWorksUnderTheFilter PROPERTIES
  TIMEOUT 60)
