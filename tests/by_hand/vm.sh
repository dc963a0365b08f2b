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
source "$(dirname "$0")/debian_tree.sh"

USAGE='usage: vm.sh [--keep] [--filter GTEST-FILTER]'
MEMORY_MIB=4096
DISK_MIB=6144
BOOT_SECONDS=8400

work=''
machine=''
keep=no
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

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  [[ -z $machine ]] || kill "$machine" 2>/dev/null || true
  [[ -z $work ]] && exit "$code"
  if [[ $keep == yes ]]; then
    say "Image and log are kept in $work"
  else
    rm -rf --one-file-system "$work"
  fi
  exit "$code"
}

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
  # The clone may lie in /tmp, which a boot would empty.
  ln -s /dev/null "$work/tree/etc/tmpfiles.d/tmp.conf"
  cp "$SANDGLASS_ROOT"/build/bin/{sandglass_{e2e,exec,durable,security}_test,sandglass-probe,sandglass_stuck_client,sandglass_hostile} "$place/build/bin/"
  # For the ordinary user, who starts it from the clone.
  cp "$SANDGLASS_ROOT"/build/bin/{sandglassd,sandglass-spawner,sandglass-zygote-{python,ruby}.so,sandglass} "$place/build/bin/"
  cp -r "$SANDGLASS_ROOT"/{policy,tests,deploy} "$place/"
}

install_check() {
  local filter words=''
  for filter in "${filters[@]}"; do words+=" '$filter'"; done
  cat >"$work/tree/etc/systemd/system/vm-check.service" <<UNIT
[Unit]
Description=Checks of the sandbox daemon
After=multi-user.target
FailureAction=poweroff-force
[Service]
Type=oneshot
WorkingDirectory=$SANDGLASS_ROOT
ExecStart=/bin/bash tests/by_hand/vm_inside.sh $1$words
# As of a login, which the posture files are of.
IgnoreSIGPIPE=no
LimitNOFILE=524288
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=multi-user.target
UNIT
  mkdir -p "$work/tree/etc/systemd/system/multi-user.target.wants"
  ln -sf ../vm-check.service "$work/tree/etc/systemd/system/multi-user.target.wants/vm-check.service"
}

make_disk() {
  mv "$work"/tree/boot/vmlinuz-* "$work/vmlinuz"
  mv "$work"/tree/boot/initrd.img-* "$work/initrd"
  printf '/dev/vda / ext4 defaults 0 1\n' >"$work/tree/etc/fstab"
  mke2fs -q -t ext4 -d "$work/tree" "$work/disk" "${DISK_MIB}M"
}

# In the background: ends as a whole when it is killed.
boot() {
  exec timeout "$BOOT_SECONDS" qemu-system-x86_64 -machine q35,accel=tcg -cpu max \
    -nographic -no-reboot -nic none -smp 2 -m "$MEMORY_MIB" -kernel "$work/vmlinuz" -initrd "$work/initrd" \
    -append 'root=/dev/vda rw console=ttyS0 quiet systemd.unified_cgroup_hierarchy=1 systemd.mask=serial-getty@ttyS0.service panic=-1' \
    -drive "file=$work/disk,if=virtio,format=raw,cache=unsafe" \
    </dev/null >"$work/console.log" 2>&1
}

# Shows what the machine says as it says it.
follow() {
  : >"$work/console.log"
  tail -f -n +1 --pid="$1" "$work/console.log" | sed -u -n 's/\r//g; s/^.*VM: //p'
}

run_machine() {
  say "$1"
  boot &
  machine=$!
  follow "$machine"
  grep -q 'VM: result 0' "$work/console.log" || die "not all is well; with --keep the whole log stays"
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
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  work="$(mktemp -d /var/tmp/sandglass-vm.XXXXXX)"
  workload="$("$BASH" "$SANDGLASS_ROOT/tests/by_hand/vm_inside.sh" workload)"
  run_step 'Making the image' "$work/image.log" make_image_tree
  run_step 'Making the packages' "$work/packages.log" make_packages
  copy_tests
  install_check "$workload"
  run_step 'Writing the disk' "$work/disk.log" make_disk
  run_machine 'Running in the machine'
  run_machine 'Booting it again'
  say "All of it: done in $SECONDS s"
}

main "$@"
