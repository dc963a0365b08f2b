add_executable(policy_test
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_address_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_facts_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/audit_chain_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/audit_verify_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_hints_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_json_reader_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_language_image_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_language_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_hosts_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_libraries_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_library_lock_node_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_library_lock_others_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_library_lock_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_library_policy_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_library_words_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_missing_import_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_network_profile_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_network_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_prestart_recipe_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_paths_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_placeholders_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_apply_request_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_profile_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_rules_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_redaction_pattern_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_redaction_profile_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_redaction_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_verdict_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy_zygote_kind_test.cc)
target_link_libraries(policy_test PRIVATE
  sandglass_audit sandglass_policy sandglass_paths absl::strings GTest::gmock_main
  PkgConfig::RE2)
target_compile_definitions(policy_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
include(GoogleTest)
gtest_discover_tests(policy_test)
