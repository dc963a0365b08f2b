# Compiles a target's sources eight at a time: most of a source's compile time
# is the headers and templates that its neighbours need too. Measured on two
# processors: a third of the time for the daemon's sources and for the tests.
#
#   sandglass_unity(TARGET [source…])
#
# The sources named are compiled alone, because they have names of their own
# that a neighbour has as well.
option(SANDGLASS_UNITY "Compile several sources at once" ON)

function(sandglass_unity target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${SANDGLASS_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  # Groups are by places in the list: one source that is compiled alone moves
  # none of the others into another group.
  set(place 0)
  foreach(source IN LISTS sources)
    math(EXPR group "${place} / 8")
    math(EXPR place "${place} + 1")
    if(NOT source IN_LIST ARGN)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()
