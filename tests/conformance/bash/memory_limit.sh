#!/bin/bash

step=$((8 * 1024 * 1024))

for ((n = 0; ; n++)); do
  # shellcheck disable=SC2034 # only kept
  printf -v "blocks[n]" '%*s' "$step" ''
done
