#!/bin/bash
# Installs the packages of Debian 12 or 13 that Sandglass needs.
#
#   sudo deploy/install-deps.sh
#       [--run|--languages [ID…]|--libraries|--build|--test|--list-run|--list-build]
#
#   --run    what the programs need to run
#   --languages  that, and the runtimes of all languages, or of those
#   --libraries  that, and what installs their libraries
#   --build  also what building them needs (the default)
#   --test   also what tests, style checks and the benchmark need
#   --list-run, --list-build   only print the names that --run or --build stands
#            for; those of Debian 12
#
# Does nothing, fast, when everything is there.
set -euo pipefail
source "$(dirname "$0")/common.sh"

RUN_PACKAGES=(
  bash
  ca-certificates
  python3
  libedit2
  libseccomp2
)
# Those whose names have a version in them, by the release of Debian.
declare -A RUN_OF=(
  [12]='libabsl20220623 libcurl4 libgrpc++1.51 libprotobuf32 libprotobuf-lite32
    libprometheus-cpp-core1.0 libspdlog1.10 libzip4'
  [13]='libabsl20240722 libcurl4t64 libgrpc++1.51t64 libprotobuf32t64
    libprotobuf-lite32t64 libprometheus-cpp-core1.0 libspdlog1.15 libzip5'
)

# From 13 on the linker gold, which C++'s programs are linked with, is apart.
declare -A BUILD_OF=([12]=clang-14 [13]=binutils-gold)
BUILD_PACKAGES=(
  ccache
  cmake
  # With the next, for the Debian package.
  dpkg-dev
  file
  g++
  libabsl-dev
  libboost-dev
  libc-ares-dev
  libcli11-dev
  libcurl4-openssl-dev
  libedit-dev
  libgmock-dev
  libgrpc++-dev
  libgtest-dev
  libprotobuf-dev
  libre2-dev
  libseccomp-dev
  libspdlog-dev
  libssl-dev
  libzip-dev
  ninja-build
  nlohmann-json3-dev
  pkg-config
  prometheus-cpp-dev
  protobuf-compiler
  protobuf-compiler-grpc
  zlib1g-dev
)

# The packages that the language files name.
# shellcheck disable=SC2119 # of all languages
mapfile -t LANGUAGE_PACKAGES < <(language_packages)
# Those that install libraries for programs.
# shellcheck disable=SC2119 # of all languages
mapfile -t LIBRARY_PACKAGES < <(library_packages)

# What looks at the sources, which one release does.
declare -A TEST_OF=([12]='clang-format-14 clang-tidy-14 libclang-rt-14-dev' [13]='')
TEST_PACKAGES=(
  bubblewrap
  crun
  curl
  git
  jq
  maven
  mmdebstrap
  npm
  procps
  # Imported or called by the programs of others that the tests run.
  bc
  ipython3
  python3-httpx
  python3-lxml
  python3-pip
  python3-requests
  python3-venv
  "${SCIENCE_PACKAGES[@]}"
  ruby-grpc
  ruby-grpc-tools
  runc
  shellcheck
  # A judge of the jails.
  stress-ng
  # Daemons of ordinary users.
  uidmap
  # Look at the Debian package.
  bsdextrautils
  lintian
  man-db
  wget
)

# Where another vendor's package gives the same program, it will do: Debian's
# own npm can't be installed beside NodeSource's nodejs.
declare -A COMMAND_WILL_DO=([npm]=/usr/bin/npm)

usage() {
  say "usage: sudo $0 [--run|--languages [ID…]|--libraries|--build|--test|--list-run|--list-build]"
}

# Prints the packages among the arguments that are not installed.
missing() {
  local package installed
  # dpkg-query fails when it has never heard of one of them.
  installed=" $({ dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true; } |
    awk '$1 == "installed" {print $2}' | tr '\n' ' ') "
  for package in "$@"; do
    [[ $installed == *" $package "* ]] && continue
    [[ -n ${COMMAND_WILL_DO[$package]:-} && -x ${COMMAND_WILL_DO[$package]} ]] && continue
    echo "$package"
  done
}

apt() {
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=60 \
    -o Dpkg::Use-Pty=0 -o APT::Sandbox::Seccomp=0 -y "$@"
}

# Says in one line why apt failed, where the reason is a common one.
explain() {
  local log=$1
  if grep -q 'Could not get lock\|Unable to acquire the dpkg' "$log"; then
    die "another package tool holds apt's lock; wait for it to end and run this again"
  elif grep -q 'dpkg was interrupted' "$log"; then
    die "an earlier installation was interrupted; run 'sudo dpkg --configure -a' and then this again"
  elif grep -q 'No space left\|enough free space' "$log"; then
    die "the disk is full; make room and run this again"
  elif grep -q 'Temporary failure resolving\|Could not connect\|Failed to fetch' "$log"; then
    die "apt can't reach its package source; check the network and /etc/apt, then run this again"
  fi
  die "apt failed; its output is in $log"
}

main() {
  # Of the images that the project makes, where nothing is to be installed here.
  local debian=12 list wanted run build test
  [[ ${1:-} == --list-* ]] || need_debian
  read -rd '' -a run <<<"${RUN_OF[$debian]}" || true
  read -rd '' -a build <<<"${BUILD_OF[$debian]}" || true
  read -rd '' -a test <<<"${TEST_OF[$debian]}" || true
  local packages=("${RUN_PACKAGES[@]}" "${run[@]}")
  (($# <= 1)) || [[ $1 == --languages ]] || { usage >&2; exit 2; }
  case ${1:---build} in
    --run) ;;
    --languages)
      list="$(language_packages "${@:2}")"
      mapfile -t -O "${#packages[@]}" packages <<<"$list"
      ;;
    --libraries) packages+=("${LANGUAGE_PACKAGES[@]}" "${LIBRARY_PACKAGES[@]}") ;;
    --build) packages+=("${BUILD_PACKAGES[@]}" "${build[@]}") ;;
    --test) packages+=("${BUILD_PACKAGES[@]}" "${build[@]}" "${test[@]}" "${LANGUAGE_PACKAGES[@]}" "${LIBRARY_PACKAGES[@]}" "${TEST_PACKAGES[@]}") ;;
    --list-run) printf '%s\n' "${packages[@]}"; exit 0 ;;
    --list-build) printf '%s\n' "${packages[@]}" "${BUILD_PACKAGES[@]}" "${build[@]}"; exit 0 ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac

  list="$(missing "${packages[@]}")"
  [[ -n $list ]] || exit 0
  mapfile -t wanted <<<"$list"
  ((EUID == 0)) ||
    die "not installed: ${wanted[*]}; run: sudo $0 $*"

  local logs=/var/log/sandglass
  mkdir -p "$logs"
  run_step 'Reading the package lists' "$logs/apt-update.log" apt update ||
    explain "$logs/apt-update.log"
  run_step "Installing ${#wanted[@]} packages and what they need" \
    "$logs/apt-install.log" \
    apt install --no-install-recommends "${wanted[@]}" ||
    explain "$logs/apt-install.log"

  list="$(missing "${wanted[@]}")"
  [[ -z $list ]] || die "still not installed: ${list//$'\n'/ }"
}

main "$@"
