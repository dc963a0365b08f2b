# shellcheck shell=bash
# Boots a tree of Debian in qemu and shows what it says. Source it after
# deploy/common.sh and deploy/debian_tree.sh; it changes nothing by itself.

# The script that sources it says how the machine is emulated (qemu and what is
# the machine's own), which terminal its kernel writes to, and how much of all
# the machine gets.
emulator=()
console=ttyS0
memory_mib=4096
disk_mib=6144
boot_seconds=8400

# Set once there is something to clean up; the tree is $work/tree.
work=''
machine=''
# Whether image and log are left in place.
keep=no

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

# Sets `work` to a new folder that goes with the script.
begin_work() {
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  work="$(mktemp -d /var/tmp/sandglass-vm.XXXXXX)"
}

# install_check COMMAND…: runs a command in the project's directory of the tree
# once the machine is up. The words may hold blanks, and no quotes.
install_check() {
  local word words=''
  for word in "$@"; do words+=" '$word'"; done
  cat >"$work/tree/etc/systemd/system/vm-check.service" <<UNIT
[Unit]
Description=Checks of the sandbox daemon
After=multi-user.target
FailureAction=poweroff-force
[Service]
Type=oneshot
WorkingDirectory=$SANDGLASS_ROOT
ExecStart=$words
# As of a login, which the posture files are of.
IgnoreSIGPIPE=no
LimitNOFILE=524288
StandardOutput=tty
StandardError=tty
TTYPath=/dev/$console
[Install]
WantedBy=multi-user.target
UNIT
  mkdir -p "$work/tree/etc/systemd/system/multi-user.target.wants"
  ln -sf ../vm-check.service "$work/tree/etc/systemd/system/multi-user.target.wants/vm-check.service"
  # The clone may lie in /tmp, which a boot would empty.
  ln -s /dev/null "$work/tree/etc/tmpfiles.d/tmp.conf"
}

make_disk() {
  mv "$work"/tree/boot/vmlinuz-* "$work/vmlinuz"
  mv "$work"/tree/boot/initrd.img-* "$work/initrd"
  printf '/dev/vda / ext4 defaults 0 1\n' >"$work/tree/etc/fstab"
  mke2fs -q -t ext4 -d "$work/tree" "$work/disk" "${disk_mib}M"
}

# In the background: ends as a whole when it is killed.
boot() {
  exec timeout "$boot_seconds" "${emulator[@]}" -cpu max \
    -nographic -no-reboot -nic none -smp 2 -m "$memory_mib" -kernel "$work/vmlinuz" -initrd "$work/initrd" \
    -append "root=/dev/vda rw console=$console quiet systemd.unified_cgroup_hierarchy=1 systemd.mask=serial-getty@$console.service panic=-1" \
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
