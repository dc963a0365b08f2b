# Ends the build of a package that would ask for no libraries.
if(NOT PROGRAM)
  message(FATAL_ERROR "there is no dpkg-shlibdeps; run deploy/install-deps.sh "
    "and configure again")
endif()
