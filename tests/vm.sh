#!/bin/bash
# The daemon on the kernel that users have: boots a Debian 12 image (Debian's
# own kernel, systemd, cgroup v2 alone) in qemu and, inside it, starts the
# installed service and, by deploy/rootless.sh, a daemon of an ordinary user,
# runs programs on both and the tests of posture, limits and crashes. By hand:
# it takes five minutes on two processors.
#
#   sudo tests/vm.sh [--keep] [--filter GTEST-FILTER]
#
#   --keep    leave image and log in place and print where they are
#   --filter  the tests to run inside
#
# Needs the release build (build/) and root. What packages come from is taken
# from this machine's apt configuration as it runs.
set -euo pipefail
source "$(dirname "$0")/../deploy/common.sh"
source "$(dirname "$0")/debian_tree.sh"

MEMORY_MIB=4096
DISK_MIB=4096
BOOT_SECONDS=3000

work=''
keep=no
filter='Posture*:LimitsTest*:FoundingPrograms*:Pool*:Crash*:Hostile*:Inside*'

clean_up() {
  local code=$?
  trap - EXIT INT TERM
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
  mapfile -t packages < <("$SANDGLASS_ROOT/deploy/install-deps.sh" --list-run)
  debian_tree "$work/tree" \
    --include="systemd-sysv,linux-image-cloud-amd64,dbus-user-session,libpam-systemd,uidmap,$(IFS=,; echo "${packages[*]}")"
}

# The installed tree, and what the tests look for at the places they were built
# with.
copy_product() {
  local place=$work/tree$SANDGLASS_ROOT
  DESTDIR=$work/tree cmake --install "$SANDGLASS_ROOT/build" --prefix /usr >/dev/null
  mkdir -p "$place/build/bin"
  cp "$SANDGLASS_ROOT"/build/bin/{sandglassd,sandglass-spawner,sandglass,sandglass_e2e_test,sandglass_probe,sandglass_stuck_client} \
    "$place/build/bin/"
  cp -r "$SANDGLASS_ROOT/policy" "$SANDGLASS_ROOT/deploy" "$place/"
  cp -r "$SANDGLASS_ROOT/docs" "$place/"
}

write_check() {
  cat >"$work/tree/usr/local/sbin/vm-check" <<CHECK
#!/bin/bash
say() { printf 'VM: %s\n' "\$*"; }
finish() { say "result \$1"; sync; systemctl poweroff --force; }
trap 'finish error' ERR
set -eE
say "kernel \$(uname -r), cgroups \$(stat -fc %T /sys/fs/cgroup), \$(grep -c ^processor /proc/cpuinfo) processors"
/usr/sbin/sandglassd --check | sed 's/^/VM: check /'
systemctl start sandglassd.service
say "service \$(systemctl is-active sandglassd.service)"
/usr/bin/sandglass info | sed 's/^/VM: info /'
/usr/bin/sandglass run -l python -c 'print(sum(range(1, 10_001)))' 2>&1 | sed 's/^/VM: run /'
/usr/bin/sandglass run -l python -c 'x = bytearray(1 << 30)' 2>&1 | sed 's/^/VM: run /' || true
systemctl stop sandglassd.service
useradd --create-home --shell /bin/bash ordinary
loginctl enable-linger ordinary
runtime=/run/user/\$(id -u ordinary)
ordinary=(setpriv --reuid ordinary --regid ordinary --init-groups env XDG_RUNTIME_DIR=\$runtime
  SANDGLASS_ADDRESS=unix:\$runtime/sandglass/sandglass.sock)
for _ in {1..600}; do [[ -S \$runtime/bus ]] && break; sleep 0.1; done
"\${ordinary[@]}" $SANDGLASS_ROOT/deploy/rootless.sh --check | tail -n 18 | sed 's/^/VM: rootless check /'
"\${ordinary[@]}" $SANDGLASS_ROOT/deploy/rootless.sh >/var/log/rootless.log 2>&1 &
for _ in {1..300}; do "\${ordinary[@]}" sandglass info >/dev/null 2>&1 && break; sleep 0.1; done
"\${ordinary[@]}" sandglass run -l python -c 'print(sum(range(1, 10_001)))' 2>&1 | sed 's/^/VM: rootless run /'
"\${ordinary[@]}" sandglass run -l python -c 'x = bytearray(1 << 30)' 2>&1 | sed 's/^/VM: rootless run /' || true
"\${ordinary[@]}" sandglass run -l python -c 'while True: pass' --timeout 1s 2>&1 | sed 's/^/VM: rootless run /' || true
"\${ordinary[@]}" sandglass run -l python -c 'import os, time; [os.fork() or time.sleep(9) for _ in range(99)]' 2>&1 | sed -n 's/^sandglass: /VM: rootless run /p' || true
kill \$!
wait \$! || true
sed 's/^/VM: rootless log /' /var/log/rootless.log | tail -n 3
say "groups left after stop: \$(find /sys/fs/cgroup -name '*sandglass*' -type d | grep -v 'system.slice/sandglassd.service' | wc -l)"
trap - ERR
cd $SANDGLASS_ROOT
code=0
$SANDGLASS_ROOT/build/bin/sandglass_e2e_test --gtest_brief=1 --gtest_filter='$filter' >/var/log/e2e.log 2>&1 || code=\$?
sed 's/^/VM: e2e /' /var/log/e2e.log | tail -n 200
finish "\$code"
CHECK
  chmod 755 "$work/tree/usr/local/sbin/vm-check"
  cat >"$work/tree/etc/systemd/system/vm-check.service" <<'UNIT'
[Unit]
Description=Checks of the sandbox daemon
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/vm-check
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

boot() {
  timeout "$BOOT_SECONDS" qemu-system-x86_64 -machine q35,accel=tcg -cpu max \
    -smp 2 -m "$MEMORY_MIB" -nographic -no-reboot -nic none \
    -kernel "$work/vmlinuz" -initrd "$work/initrd" \
    -append 'root=/dev/vda rw console=ttyS0 quiet systemd.unified_cgroup_hierarchy=1 systemd.mask=serial-getty@ttyS0.service panic=-1' \
    -drive "file=$work/disk,if=virtio,format=raw,cache=unsafe" \
    </dev/null >"$work/console.log" 2>&1
}

main() {
  while (($# > 0)); do
    case $1 in
      --keep) keep=yes ;;
      --filter)
        (($# >= 2)) || die 'usage: vm.sh [--keep] [--filter GTEST-FILTER]'
        filter=$2
        shift
        ;;
      *) die 'usage: vm.sh [--keep] [--filter GTEST-FILTER]' ;;
    esac
    shift
  done
  need_root
  local program
  for program in mmdebstrap qemu-system-x86_64 mke2fs; do
    command -v "$program" >/dev/null ||
      die "there is no $program; run: sudo apt-get install mmdebstrap qemu-system-x86 e2fsprogs"
  done
  [[ -x $SANDGLASS_ROOT/build/bin/sandglass_e2e_test ]] ||
    die "there is no release build; run tests/run.sh or cmake --preset release && cmake --build build first"
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  work="$(mktemp -d /var/tmp/sandglass-vm.XXXXXX)"
  run_step 'Making the image' "$work/image.log" make_image_tree
  copy_product
  write_check
  run_step 'Writing the disk' "$work/disk.log" make_disk
  run_step 'Running in the machine' "$work/boot.log" boot || true
  tr -d '\r' <"$work/console.log" | sed -n 's/^.*VM: //p'
  grep -q 'VM: result 0' "$work/console.log" || die "not all is well; with --keep the whole log stays"
}

main "$@"
