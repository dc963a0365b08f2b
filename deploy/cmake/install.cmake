# What `cmake --install` puts beside the programs, which their own folders
# install: sandglass in bin/, sandglassd in sbin/, sandglass-spawner,
# sandglass-egress and sandglass-zygote-*.so in libexec/sandglass/.
include(GNUInstallDirs)

# Languages, profiles and syscall rules.
install(DIRECTORY policy/data/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/sandglass/policy)
install(FILES deploy/systemd/sandglassd.service
  DESTINATION lib/systemd/system)
install(FILES deploy/systemd/sysusers.conf
  DESTINATION lib/sysusers.d RENAME sandglass.conf)
install(FILES deploy/systemd/tmpfiles.conf
  DESTINATION lib/tmpfiles.d RENAME sandglass.conf)
install(FILES deploy/apparmor/sandglass-rootless
  DESTINATION ${CMAKE_INSTALL_DATADIR}/sandglass/apparmor)
install(PROGRAMS deploy/rootless.sh
  DESTINATION libexec/sandglass RENAME sandglass-rootless)
# The pages that messages name (policy/text/docs_page.h).
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sandglass
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(FILES README.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sandglass)
install(DIRECTORY deploy/demo/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sandglass/demo
  FILES_MATCHING PATTERN "*.py")
