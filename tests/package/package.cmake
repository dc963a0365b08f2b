# The Debian package. It reads what is built, and needs no daemon.
add_test(NAME package.deb
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/package.sh ${CMAKE_BINARY_DIR})
set_tests_properties(package.deb PROPERTIES LABELS package TIMEOUT 300
  SKIP_RETURN_CODE 77)
# The bundle and the wheel, of which one is started.
add_test(NAME package.bundle
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/bundle.sh ${CMAKE_BINARY_DIR})
set_tests_properties(package.bundle PROPERTIES LABELS "package;nightly"
  TIMEOUT 600 SKIP_RETURN_CODE 77)
