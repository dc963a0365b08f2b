# A room is a folder of code with one purpose, and a library of its own.
#
#   sandglass_room(FOLDER/ROOM
#     USES rooms…          the rooms whose headers its sources may include
#     LIBRARIES targets…   what it needs of other projects and of proto/
#     HEADERS target       the headers that are compiled once for its sources;
#                          by default sandglass_common_headers, and none for
#                          sources that begin a process of few parts: NONE
#     ALONE sources…       compiled alone: a neighbour has the same names, or a
#                          program links it without its neighbours
#     SOURCES sources…)
#
# These lists are the one table of who may use whom. The linker follows it, since
# a room's library is linked with those that it uses and no others, and
# tests/style/layering.py holds each #include against it. A room may use only
# rooms that stand before it, so that there are no circles.
#
# The library of server/job is called sandglass_server_job; the rooms of a folder
# together are sandglass_server.
function(sandglass_room room)
  cmake_parse_arguments(arg "" "HEADERS" "USES;LIBRARIES;ALONE;SOURCES" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "room ${room}: what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  string(REGEX MATCH "^([^/]+)/(.+)$" matched ${room})
  set(folder ${CMAKE_MATCH_1})
  set(inside ${CMAKE_MATCH_2})
  string(REPLACE "/" "_" name sandglass_${room})
  set(used)
  foreach(other IN LISTS arg_USES)
    string(REPLACE "/" "_" other sandglass_${other})
    if(NOT TARGET ${other})
      message(FATAL_ERROR "room ${room}: ${other} stands after it, or is no room")
    endif()
    list(APPEND used ${other})
  endforeach()

  if(arg_SOURCES)
    list(TRANSFORM arg_SOURCES PREPEND ${inside}/)
    list(TRANSFORM arg_ALONE PREPEND ${inside}/)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC sandglass_options ${arg_LIBRARIES} ${used})
    if(NOT arg_HEADERS)
      set(arg_HEADERS sandglass_common_headers)
    endif()
    if(NOT arg_HEADERS STREQUAL "NONE")
      target_precompile_headers(${name} REUSE_FROM ${arg_HEADERS})
    endif()
    sandglass_unity(${name} ${arg_ALONE})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE sandglass_options ${arg_LIBRARIES} ${used})
  endif()

  if(NOT TARGET sandglass_${folder})
    add_library(sandglass_${folder} INTERFACE)
  endif()
  target_link_libraries(sandglass_${folder} INTERFACE ${name})
endfunction()
