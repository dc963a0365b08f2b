#!/bin/bash

set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=lib/adder.sh
source "$here/lib/adder.sh"

mapfile -t numbers <"$here/numbers.txt"
echo "sum: $(add_all "${numbers[@]}")"
