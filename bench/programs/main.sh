# shellcheck shell=bash
echo 'run 0'
