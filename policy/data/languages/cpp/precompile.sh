#!/bin/sh
# Precompiles each standard header named by the arguments into a file of its own.
# g++ takes such a file only where nothing precedes the #include, and it holds what
# that header holds and no more: a program that lacks an #include does not compile.
# The flags are those of the "compile" command, or g++ would not use the files.
set -eu
for header in "$@"; do
  mkdir -p "$(dirname "$header")"
  echo "#include <$header>" >main.cpp
  g++ -std=gnu++20 -O2 -x c++-header -o "$header.gch" main.cpp
done
