# Compiler options that every target of the project gets through
# sandglass_options.
add_library(sandglass_options INTERFACE)
target_include_directories(sandglass_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(sandglass_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor
  -Woverloaded-virtual -Wformat=2 -fstack-protector-strong)
# Designated initialisers that leave out members with defaults are the
# project's way of naming options.
target_compile_options(sandglass_options INTERFACE -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Whether what a lock guards is used with it alone, and (beta) whether locks are
  # acquired in their order.
  target_compile_options(sandglass_options INTERFACE
    -Wthread-safety -Wthread-safety-beta)
  # ccache keeps headers that were compiled ahead only where they hold no time.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # It warns of every function that takes a reference and returns another.
  target_compile_options(sandglass_options INTERFACE -Wno-dangling-reference)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(sandglass_options INTERFACE _GLIBCXX_ASSERTIONS)
else()
  target_compile_definitions(sandglass_options INTERFACE _FORTIFY_SOURCE=2)
endif()

# Where the sources lie makes no difference to what is built.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)

# A program that a bundle has, and that finds its libraries there: beside its
# folder, also for what these libraries need. Nothing is there in a build, and
# what `cmake --install` installs has no such path.
function(sandglass_may_be_bundled target)
  set_target_properties(${target} PROPERTIES
    BUILD_RPATH "$ORIGIN/../lib/sandglass" SKIP_BUILD_RPATH OFF)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()

# All is compiled for programs that are loaded anywhere in memory; what is loaded
# into others' programs, the zygotes, says so itself.
add_compile_options(-fPIE)

if(SANDGLASS_SANITIZER STREQUAL "asan")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(SANDGLASS_SANITIZER STREQUAL "tsan")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
  # Debian's abseil isn't built for ThreadSanitizer; the file says what follows.
  add_library(sandglass_tsan_runtime OBJECT ${PROJECT_SOURCE_DIR}/tests/support/daemon/tsan_runtime.cc)
  link_libraries(sandglass_tsan_runtime)
elseif(SANDGLASS_SANITIZER STREQUAL "fuzz")
  # vptr: Debian's libraries have no type information for some of their classes.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(NOT SANDGLASS_SANITIZER STREQUAL "")
  message(FATAL_ERROR "SANDGLASS_SANITIZER is '${SANDGLASS_SANITIZER}'; it takes asan, tsan, fuzz or nothing")
endif()
