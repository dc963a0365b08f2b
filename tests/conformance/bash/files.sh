#!/bin/bash

set -euo pipefail

mkdir -p out
# shellcheck disable=SC2018,SC2019 # ASCII only
tr a-z A-Z <input.txt >out/result.txt
echo "ok"
