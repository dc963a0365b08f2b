# The Debian package. It reads what is built, and needs no daemon.
add_test(NAME package.deb
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/package.sh ${CMAKE_BINARY_DIR})
set_tests_properties(package.deb PROPERTIES LABELS package TIMEOUT 300
  SKIP_RETURN_CODE 77)
