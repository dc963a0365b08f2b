#!/bin/bash
# Builds for arm64 on a Debian 12 machine of another kind, into build-aarch64/.
#
#   deploy/cross-build.sh [TARGET…]     (default: the programs)
#   sudo deploy/cross-build.sh --bundle   the bundle and the wheel, by bundle.sh
#
# The compiler is the release build's, clang; arm64's headers and libraries come
# from Debian's packages, which are unpacked below build-aarch64/sysroot once. Of
# arm64 nothing runs, but for the bundle: bundle.sh runs in a tree of Debian,
# below build-aarch64/debian, whose programs are emulated.
set -euo pipefail
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/debian_tree.sh"

build=$SANDGLASS_ROOT/build-aarch64
PROGRAMS=(sandglass sandglassd sandglass-spawner sandglass-egress-static
  sandglass-zygote-python sandglass-zygote-ruby)

# Those with headers, and what gRPC's own build files look for.
header_packages() {
  say libstdc++-12-dev
  "$SANDGLASS_ROOT/deploy/install-deps.sh" --list-build |
    grep -E -- '-dev$|^protobuf-compiler' | grep -v '^dpkg-dev$'
}

make_sysroot() {
  debian_tree "$build/sysroot.new" --architectures=arm64 --variant=extract \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include="$(header_packages | paste -sd,)" &&
    mv "$build/sysroot.new" "$build/sysroot"
}

make_debian() {
  run_arm64_programs
  # What the libraries are from is in their packages.
  debian_tree "$build/debian.new" --architectures=arm64 --include="binutils,cmake,zstd,$({
    header_packages
    "$SANDGLASS_ROOT/deploy/install-deps.sh" --list-run
  } | paste -sd,)" &&
    mv "$build/debian.new" "$build/debian"
}

# Its mounts go with it.
make_bundle() {
  run_arm64_programs
  # shellcheck disable=SC2016 # for that shell
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -c safe.directory='*' -C "$SANDGLASS_ROOT" log -1 --format=%ct)} \
    unshare --mount bash -e -c '
      mkdir -p "$1/clone"
      mount --bind "$2" "$1/clone"
      mount -t proc proc "$1/proc"
      mount --rbind /dev "$1/dev"
      chroot "$1" /clone/deploy/bundle.sh --build /clone/build-aarch64 /clone/build-aarch64
    ' bash "$build/debian" "$SANDGLASS_ROOT"
}

main() {
  local tool bundle=no
  if [[ ${1:-} == --bundle ]]; then
    (($# == 1)) || die 'usage: cross-build.sh [TARGET…] or cross-build.sh --bundle'
    need_root
    bundle=yes
    shift
  fi
  for tool in clang++-14 aarch64-linux-gnu-ld mmdebstrap protoc grpc_cpp_plugin; do
    command -v "$tool" >/dev/null ||
      die "there is no $tool; run: sudo deploy/install-deps.sh && sudo apt-get install binutils-aarch64-linux-gnu mmdebstrap"
  done
  mkdir -p "$build"
  if [[ ! -d $build/sysroot ]]; then
    rm -rf "$build/sysroot.new"
    run_step "Unpacking arm64's libraries" "$build/logs/sysroot.log" make_sysroot
  fi
  (($# > 0)) || set -- "${PROGRAMS[@]}"
  build_preset aarch64 "$build" "$@"
  [[ $bundle == yes ]] || return 0
  if [[ ! -d $build/debian ]]; then
    rm -rf --one-file-system "$build/debian.new"
    run_step "Making a tree of arm64's Debian" "$build/logs/debian.log" make_debian
  fi
  run_step 'Making the bundle' "$build/logs/bundle.log" make_bundle
}

main "$@"
