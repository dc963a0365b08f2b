# The Debian package: cmake --build build --target deb. What is in it, beside
# what `cmake --install` installs, is the component "deb".
set(deb ${PROJECT_SOURCE_DIR}/deploy/deb)
set(made ${CMAKE_BINARY_DIR}/deb)

set(SANDGLASS_MAINTAINER "Sandglass maintainers <maintainers@sandglass.invalid>"
  CACHE STRING "Who answers for packages that this build makes")

set(MAINTAINER "${SANDGLASS_MAINTAINER}")
configure_file(${deb}/changelog ${made}/changelog.Debian @ONLY)
foreach(script postinst prerm postrm)
  configure_file(${deb}/${script}.sh ${made}/${script} COPYONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
      GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
add_custom_command(OUTPUT ${made}/changelog.Debian.gz
  COMMAND gzip -9nc ${made}/changelog.Debian > ${made}/changelog.Debian.gz
  DEPENDS ${made}/changelog.Debian VERBATIM)
add_custom_target(sandglass_changelog ALL DEPENDS ${made}/changelog.Debian.gz)

install(FILES ${deb}/copyright ${made}/changelog.Debian.gz
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sandglass
  COMPONENT deb EXCLUDE_FROM_ALL)
install(FILES ${deb}/lintian-overrides
  DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME sandglass
  COMPONENT deb EXCLUDE_FROM_ALL)
install(FILES deploy/sandglassd.json DESTINATION /etc/sandglass
  COMPONENT deb EXCLUDE_FROM_ALL)

# Those of the languages, as their files name them: the two that need nothing
# else with the package, the others where a person wants them.
file(GLOB languages CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/policy/data/languages/*.json)
set(suggested "")
foreach(language ${languages})
  file(STRINGS ${language} lines REGEX "^  \"package\": \"")
  foreach(line ${lines})
    string(REGEX REPLACE "^  \"package\": \"(.*)\",?$" "\\1" package "${line}")
    list(APPEND suggested ${package})
  endforeach()
endforeach()
list(REMOVE_DUPLICATES suggested)
list(REMOVE_ITEM suggested bash python3 g++)
list(JOIN suggested ", " suggested)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sandglass)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
# For /etc, which isn't below the prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS
  "${CMAKE_BINARY_DIR};sandglass;ALL;/;${CMAKE_BINARY_DIR};sandglass;deb;/")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${SANDGLASS_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"runs programs that a model wrote, in jails
sandglassd is a daemon with a gRPC interface. A client sends code; the daemon
makes a jail for it of namespaces, control groups, seccomp and Landlock, runs
it there, and answers with its output and a verdict that rests on facts of the
kernel. The package has the daemon as a service, and sandglass, its command
line client. Languages are those whose interpreters and compilers are there.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Without it CPack makes a package that asks for no libraries.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
# Beside what is linked: the account and the directories are systemd's to make.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "init-system-helpers (>= 1.54~), systemd")
# Two languages, and what the client loads when it talks with a model.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates, g++, libcurl4, python3")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "${suggested}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  "${made}/postinst;${made}/prerm;${made}/postrm;${deb}/conffiles")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Directories are made as the umask of whoever builds wants them.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/deploy/cmake/directory_modes.cmake)
include(CPack)

add_custom_target(deb
  COMMAND ${CMAKE_COMMAND} -D "PROGRAM=${DPKG_SHLIBDEPS}" -P
    ${PROJECT_SOURCE_DIR}/deploy/cmake/need_shlibdeps.cmake
  COMMAND ${CMAKE_CPACK_COMMAND} --config ${CMAKE_BINARY_DIR}/CPackConfig.cmake
  DEPENDS sandglass_man sandglass_completions sandglass_changelog VERBATIM)
add_dependencies(deb sandglass sandglassd sandglass-spawner sandglass-egress
  sandglass-zygote-python sandglass-zygote-ruby)
