#!/bin/bash
# Builds for arm64 on a Debian 12 machine of another kind, into build-aarch64/.
#
#   deploy/cross-build.sh [TARGET…]     (default: all)
#
# The compiler is the release build's, clang; arm64's headers and libraries come
# from Debian's packages, which are unpacked below build-aarch64/sysroot once. Of
# arm64 nothing runs. As root, or where mmdebstrap may make user namespaces.
set -euo pipefail
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/../tests/by_hand/debian_tree.sh"

build=$SANDGLASS_ROOT/build-aarch64

make_sysroot() {
  local packages
  # Those with headers, and what gRPC's own build files look for.
  mapfile -t packages < <("$SANDGLASS_ROOT/deploy/install-deps.sh" --list-build |
    grep -E -- '-dev$|^protobuf-compiler')
  debian_tree "$build/sysroot.new" --architectures=arm64 --variant=extract \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include="libstdc++-12-dev,$(IFS=,; echo "${packages[*]}")"
  mv "$build/sysroot.new" "$build/sysroot"
}

main() {
  local tool
  for tool in clang++-14 aarch64-linux-gnu-ld mmdebstrap protoc grpc_cpp_plugin; do
    command -v "$tool" >/dev/null ||
      die "there is no $tool; run: sudo deploy/install-deps.sh && sudo apt-get install binutils-aarch64-linux-gnu mmdebstrap"
  done
  mkdir -p "$build"
  if [[ ! -d $build/sysroot ]]; then
    rm -rf "$build/sysroot.new"
    run_step "Unpacking arm64's libraries" "$build/logs/sysroot.log" make_sysroot
  fi
  build_preset aarch64 "$build" "$@"
}

main "$@"
