#!/bin/bash
# The daemon on the kernel that users have: boots a Debian 12 image (Debian's
# own kernel, systemd, cgroup v2 alone, every language) in qemu and, inside it,
# runs tests/by_hand/vm_inside.sh: the service as its package installs it, a daemon of
# an ordinary user, the tests; then, after a boot, the package's upgrade and
# purge. By hand.
#
#   sudo tests/by_hand/vm.sh [--keep] [--filter GTEST-FILTER]
#
#   --keep    leave image and log in place and print where they are
#   --filter  the tests to run inside
#
# Needs the release build (build/) and root. What packages come from is taken
# from this machine's apt configuration as it runs.
set -euo pipefail
source "$(dirname "$0")/../../deploy/common.sh"
source "$(dirname "$0")/../../deploy/debian_tree.sh"
source "$(dirname "$0")/machine.sh"

USAGE='usage: vm.sh [--keep] [--filter GTEST-FILTER]'

emulator=(qemu-system-x86_64 -machine 'q35,accel=tcg')
# Each is a part with a time of its own.
filters=(
  # Here is no numpy; and programs of these two are at their limit of time
  # before the pool has been seen to be still.
  '*Posture*-*python_science:*IsAsCommitted/javascript_run:*IsAsCommitted/java_run'
  'LimitsTest*:HostLimits*'
  'FoundingPrograms*:Pool*:Crash*:Hostile*:Inside*'
  # Not Covert: emulation garbles what is said by levels of shared counts.
  # One way of starting and one language: with all it takes half an hour.
  'Ways/Hostile*/exec:Languages/HostileScripts*/python:HostLeaks*:HostWatch*'
  # Here is no matplotlib, and Java's kernel takes longer than it may.
  '*Session*:Exec*:*Durable*:Fork.*:Snapshot.*:*HostileKernelStart*-*FiguresAndTables*:*SessionLanguages*/java'
)
# Java's other conformance, in interpreters that wait, takes half an hour here.
for language in "$SANDGLASS_ROOT"/policy/data/languages/*.json; do
  filters+=("Languages/Conformance*/$(basename "$language" .json)")
done

make_image_tree() {
  local packages
  mapfile -t packages < <(
    "$SANDGLASS_ROOT/deploy/install-deps.sh" --list-run
    sed -n 's/^ *"package": "\(.*\)".*/\1/p' "$SANDGLASS_ROOT"/policy/data/languages/*.json
  )
  debian_tree "$work/tree" \
    --include="systemd-sysv,linux-image-cloud-amd64,dbus-user-session,libpam-systemd,uidmap,$(IFS=,; echo "${packages[*]}")"
}

# The package, and one that differs by its version alone, for an upgrade.
make_packages() {
  local release
  for release in 1 2; do
    cpack --config "$SANDGLASS_ROOT/build/CPackConfig.cmake" -B "$work/cpack" \
      -D CPACK_DEBIAN_PACKAGE_RELEASE="$release" -D CPACK_OUTPUT_FILE_PREFIX="$work/tree/srv/packages"
  done
  rm -r "$work/cpack"
}

# What the tests look for at the places they were built with.
copy_tests() {
  local place=$work/tree$SANDGLASS_ROOT
  mkdir -p "$place/build/bin"
  cp "$SANDGLASS_ROOT"/build/bin/{sandglass_{e2e,exec,durable,security}_test,sandglass-probe,sandglass_stuck_client,sandglass_hostile} "$place/build/bin/"
  # For the ordinary user, who starts it from the clone.
  cp "$SANDGLASS_ROOT"/build/bin/{sandglassd,sandglass-spawner,sandglass-zygote-{python,ruby}.so,sandglass} "$place/build/bin/"
  cp -r "$SANDGLASS_ROOT"/{policy,tests,deploy} "$place/"
}

main() {
  while (($# > 0)); do
    case $1 in
      --keep) keep=yes ;;
      --filter)
        (($# >= 2)) || die "$USAGE"
        filters=("$2")
        shift
        ;;
      *) die "$USAGE" ;;
    esac
    shift
  done
  need_root
  local program workload
  for program in mmdebstrap qemu-system-x86_64 mke2fs g++ cpack dpkg-shlibdeps; do
    command -v "$program" >/dev/null ||
      die "there is no $program; run: sudo apt-get install mmdebstrap qemu-system-x86 e2fsprogs g++ cmake dpkg-dev"
  done
  [[ -x $SANDGLASS_ROOT/build/bin/sandglass_e2e_test ]] ||
    die "there is no release build; run tests/run.sh or cmake --preset release && cmake --build build first"
  begin_work
  workload="$("$BASH" "$SANDGLASS_ROOT/tests/by_hand/vm_inside.sh" workload)"
  run_step 'Making the image' "$work/image.log" make_image_tree
  run_step 'Making the packages' "$work/packages.log" make_packages
  copy_tests
  install_check /bin/bash tests/by_hand/vm_inside.sh "$workload" "${filters[@]}"
  run_step 'Writing the disk' "$work/disk.log" make_disk
  run_machine 'Running in the machine'
  run_machine 'Booting it again'
  say "All of it: done in $SECONDS s"
}

main "$@"
