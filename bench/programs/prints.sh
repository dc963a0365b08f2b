# shellcheck shell=bash
echo 'run 0'
for ((i = 0; i < 20000; i++)); do echo "$i"; done
