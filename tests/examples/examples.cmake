# The examples of other languages with a real daemon.
add_executable(sandglass_examples_test
  examples/examples_test.cc
  support/network/tls_world.cc)
target_link_libraries(sandglass_examples_test PRIVATE
  sandglass_test_support OpenSSL::SSL GTest::gmock GTest::gtest_main)
target_compile_definitions(sandglass_examples_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
if(TARGET sandglassd)
  add_dependencies(sandglass_examples_test sandglassd)
endif()
sandglass_add_suites(sandglass_examples_test examples.
  PART
    # One with packages of a registry, one with those of the machine.
    "Examples=Examples.PythonExampleRuns:Examples.RubyExampleRuns"
  LABELS examples TIMEOUT 1200 COST 800
  FIXTURES_REQUIRED languages)
