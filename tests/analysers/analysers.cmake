# The analysers of the languages, with the host's interpreters and compilers: no
# jail, no rights.
add_executable(analyser_test
  ${PROJECT_SOURCE_DIR}/tests/analysers/analyser_process.cc
  ${PROJECT_SOURCE_DIR}/tests/analysers/facts_test.cc
  ${PROJECT_SOURCE_DIR}/tests/analysers/hostile_programs_test.cc)
target_link_libraries(analyser_test PRIVATE
  sandglass_policy sandglass_sandbox sandglass_test_support GTest::gmock_main)
target_compile_definitions(analyser_test PRIVATE
  SANDGLASS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
# A suite is one language, whose analyser is made once.
sandglass_add_suites(analyser_test analyser.
  PART
    # Each look starts a Java virtual machine.
    "Java/HostilePrograms=Java/HostilePrograms.AMegabyteInOneLineIsAnalysedWhole/*:Java/HostilePrograms.TooManyFactsAreReportedAsTooMany/*:Java/HostilePrograms.GarbageEndsTheAnalysisInAnOrderlyWay/*:Java/HostilePrograms.FilesThatCantBeReadFailTheAnalysis/*"
    # The same programs as of the analysers that start for each.
    "CppThatWaits/HostilePrograms=CppThatWaits/HostilePrograms.TooManyFactsAreReportedAsTooMany/*"
    "GoThatWaits/HostilePrograms=GoThatWaits/HostilePrograms.TooManyFactsAreReportedAsTooMany/*"
    "JavaScriptThatWaits/HostilePrograms=JavaScriptThatWaits/HostilePrograms.TooManyFactsAreReportedAsTooMany/*"
  LABELS analyser TIMEOUT 900)
