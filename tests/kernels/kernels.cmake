# The kernels of the languages, as processes of their own: no jail, no rights.
add_executable(kernel_test
  ${PROJECT_SOURCE_DIR}/tests/kernels/cells_test.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/display_test.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/hostile_cells_test.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/ipython_test.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/kernel_process.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/other_kernels_test.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/sessions_test.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/last_cells_test.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/javascript_waits_test.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/bash_kernel_test.cc)
target_link_libraries(kernel_test PRIVATE
  sandglass_policy sandglass_sandbox_os sandglass_test_support
  nlohmann_json::nlohmann_json GTest::gmock_main)
target_compile_definitions(kernel_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
sandglass_add_suites(kernel_test kernel. LABELS kernel TIMEOUT 300 COST 700)
