#!/bin/sh
# Fills a build cache with what go has to know of the standard library before it
# can use the compiled packages that came with it. The cache is used read-only.
# Then builds the analyser.
set -eu
export GOCACHE="$PWD/cache"
{
  echo 'package main'
  go list std | grep -Ev '(^|/)(internal|vendor)(/|$)' | sed 's/.*/import _ "&"/'
  echo 'func main() {}'
} >main.go
printf 'module main\n\ngo 1.19\n' >go.mod
go build -ldflags='-s -w' -buildvcs=false -o main .
go build -ldflags='-s -w' -buildvcs=false -o analyse ./analyser
# Go locks this file to read it, and a lock of one jail would hold up all others.
rm -f cache/trim.txt
# Go insists on all of the cache's directories, and only files are kept.
for directory in cache/*/; do
  echo >"$directory/README"
done
