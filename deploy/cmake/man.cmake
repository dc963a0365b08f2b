# The manual pages, compressed as packages have them. That of the configuration
# file is the sample itself in a frame.
file(READ ${PROJECT_SOURCE_DIR}/deploy/sandglassd.json SAMPLE)
string(REPLACE "\\" "\\e" SAMPLE "${SAMPLE}")
string(REPLACE "-" "\\-" SAMPLE "${SAMPLE}")
configure_file(deploy/man/sandglassd.json.5.in
  ${CMAKE_BINARY_DIR}/man/sandglassd.json.5 @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/deploy/sandglassd.json)

set(man_pages "")
foreach(page ${PROJECT_SOURCE_DIR}/deploy/man/sandglass.1
    ${PROJECT_SOURCE_DIR}/deploy/man/sandglassd.8
    ${PROJECT_SOURCE_DIR}/deploy/man/sandglass-gateway.8
    ${CMAKE_BINARY_DIR}/man/sandglassd.json.5)
  get_filename_component(name ${page} NAME)
  string(REGEX MATCH "[0-9]$" section ${name})
  set(packed ${CMAKE_BINARY_DIR}/man/${name}.gz)
  add_custom_command(OUTPUT ${packed}
    COMMAND gzip -9nc ${page} > ${packed} DEPENDS ${page} VERBATIM)
  list(APPEND man_pages ${packed})
  # Not there where only programs were built.
  install(FILES ${packed} DESTINATION ${CMAKE_INSTALL_DATADIR}/man/man${section}
    OPTIONAL)
endforeach()
add_custom_target(sandglass_man ALL DEPENDS ${man_pages})

# Completions, where each shell looks for those of packages.
set(completions "")
foreach(shell_and_place bash=bash-completion/completions/sandglass
    zsh=zsh/vendor-completions/_sandglass
    fish=fish/vendor_completions.d/sandglass.fish)
  string(REGEX MATCH "^([a-z]+)=(.+)/(.+)$" _ ${shell_and_place})
  set(file ${CMAKE_BINARY_DIR}/completions/${CMAKE_MATCH_2}/${CMAKE_MATCH_3})
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory
      ${CMAKE_BINARY_DIR}/completions/${CMAKE_MATCH_2}
    COMMAND sandglass completion ${CMAKE_MATCH_1} > ${file}
    DEPENDS sandglass VERBATIM)
  list(APPEND completions ${file})
  # Not there where only programs were built.
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${CMAKE_MATCH_2}
    OPTIONAL)
endforeach()
add_custom_target(sandglass_completions ALL DEPENDS ${completions})
