#!/bin/bash
# The daemon on arm64: builds for it (deploy/cross-build.sh), boots Debian 12's
# own arm64 kernel in qemu, and runs tests/by_hand/arm64_inside.sh in it: unit
# tests, jails, Python and Bash from a call to its answer. By hand. On a machine of
# another kind all of it is emulated: some twenty minutes.
#
#   sudo tests/by_hand/arm64.sh [--keep] [--built]
#
#   --keep    leave image and log in place and print where they are
#   --built   take what build-aarch64/ has, instead of building first
#
# Needs root. What packages come from is taken from this machine's apt
# configuration as it runs.
set -euo pipefail
source "$(dirname "$0")/../../deploy/common.sh"
source "$(dirname "$0")/../../deploy/debian_tree.sh"
source "$(dirname "$0")/machine.sh"

USAGE='usage: arm64.sh [--keep] [--built]'
BUILD=$SANDGLASS_ROOT/build-aarch64
PROGRAMS=(sandglassd sandglass-egress sandglass-spawner sandglass sandglass-spawner-of-tests sandglass-zygote-python)
TESTS=(policy_test seccomp_test sandbox_unit_test jail_test session_jail_test traced_jail_test)

emulator=(qemu-system-aarch64 -machine virt)
console=ttyAMA0
memory_mib=3072
disk_mib=4096
boot_seconds=3600

make_image_tree() {
  local packages
  mapfile -t packages < <("$SANDGLASS_ROOT/deploy/install-deps.sh" --list-run)
  # The kernel's own start needs a few modules; to look for all takes minutes.
  # shellcheck disable=SC2016 # for mmdebstrap
  debian_tree "$work/tree" --architectures=arm64 \
    --include="systemd-sysv,linux-image-cloud-arm64,$(IFS=,; echo "${packages[*]}")" \
    --essential-hook='
      mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"
      echo MODULES=list >"$1/etc/initramfs-tools/conf.d/vm"
      printf "%s\n" virtio_pci virtio_blk ext4 >"$1/usr/share/initramfs-tools/modules.d/vm"'
}

# At the places that they were built with.
copy_programs() {
  local place=$work/tree$SANDGLASS_ROOT file
  mkdir -p "$place/build-aarch64/bin"
  for file in "${PROGRAMS[@]/%python/python.so}" "${TESTS[@]}"; do
    aarch64-linux-gnu-strip --strip-debug \
      -o "$place/build-aarch64/bin/$file" "$BUILD/bin/$file"
  done
  cp -r "$SANDGLASS_ROOT"/{policy,tests,deploy,docs} "$place/"
  # Where deploy/cross-build.sh has made one.
  for file in "$BUILD"/sandglass-*-linux-aarch64.tar.zst; do
    [[ ! -e $file ]] || tar --zstd -xf "$file" -C "$work/tree/srv"
  done
}

main() {
  local built=no program
  while (($# > 0)); do
    case $1 in
      --keep) keep=yes ;;
      --built) built=yes ;;
      *) die "$USAGE" ;;
    esac
    shift
  done
  need_root
  for program in mmdebstrap qemu-system-aarch64 mke2fs aarch64-linux-gnu-strip; do
    command -v "$program" >/dev/null ||
      die "there is no $program; run: sudo apt-get install mmdebstrap qemu-system-arm e2fsprogs binutils-aarch64-linux-gnu"
  done
  [[ $built == yes ]] ||
    "$SANDGLASS_ROOT/deploy/cross-build.sh" "${PROGRAMS[@]}" "${TESTS[@]}"
  run_arm64_programs
  begin_work
  run_step 'Making the image' "$work/image.log" make_image_tree
  copy_programs
  install_check /bin/bash tests/by_hand/arm64_inside.sh
  run_step 'Writing the disk' "$work/disk.log" make_disk
  run_machine 'Running in the machine'
  say "All of it: done in $SECONDS s"
}

main "$@"
