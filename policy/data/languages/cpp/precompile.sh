#!/bin/sh
# Precompiles each standard header named by the arguments into a file of its own.
# g++ takes such a file only where nothing precedes the #include, and it holds what
# that header holds and no more: a program that lacks an #include does not compile.
# The flags are those of the "compile" command, or g++ would not use the files.
#
# Beside each lies a header of the same name that leads to the standard one. Once
# g++ has seen NAME.gch in a directory it takes NAME to be there as well, and opens
# it whenever the header is included again, by another header for example.
set -eu
for header in "$@"; do
  mkdir -p "$(dirname "$header")"
  echo "#include <$header>" >main.cpp
  g++ -std=gnu++20 -O2 -x c++-header -o "$header.gch" main.cpp
  printf '#pragma GCC system_header\n#include_next <%s>\n' "$header" >"$header"
done
