# shellcheck shell=bash

add_all() {
  local sum=0 number
  for number in "$@"; do
    ((sum += number))
  done
  echo "$sum"
}
