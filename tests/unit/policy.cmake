add_executable(policy_test
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/network/address_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/rules/facts_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/audit/audit_chain_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/audit/audit_verify_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/verdict/hints_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/text/json_reader_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/language/language_image_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/language/language_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/network/hosts_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/libraries/libraries_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/libraries/library_lock_node_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/libraries/library_lock_others_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/libraries/library_lock_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/libraries/library_policy_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/libraries/library_words_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/libraries/missing_import_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/network/network_profile_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/network/network_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/language/prestart_recipe_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/text/paths_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/language/placeholders_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/limits/apply_request_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/profile/profile_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/rules/rules_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/redaction/redaction_pattern_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/redaction/redaction_profile_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/redaction/redaction_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/verdict/verdict_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/language/zygote_kind_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/verdict/verdict_details_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/text/quoted_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/text/docs_page_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/text/trusted_roots_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/text/known_languages_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/tenant/tenant_test.cc
  ${PROJECT_SOURCE_DIR}/tests/unit/policy/tenant/budget_test.cc)
target_link_libraries(policy_test PRIVATE
  sandglass_policy absl::strings GTest::gmock_main
  PkgConfig::RE2)
target_compile_definitions(policy_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
include(GoogleTest)
sandglass_add_suites(policy_test policy. TIMEOUT 120)
