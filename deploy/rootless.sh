#!/bin/bash
# Starts sandglassd as an ordinary user: root in a user namespace of its own,
# with control groups that are delegated to the user. docs/rootless.md says what
# the machine must have for it.
#
#   deploy/rootless.sh [OPTION…]
#
# Options are sandglassd's, for example --check, or --listen unix:/PATH. State
# and socket are in $XDG_RUNTIME_DIR/sandglass, and what is prepared for
# languages in /var/tmp/sandglass-UID, unless options say otherwise. SANDGLASSD
# names the program to start, where that isn't one of the usual places.
# Ctrl-C or SIGTERM ends it.
set -euo pipefail
# Also installed by itself, as libexec/sandglass/sandglass-rootless.
HERE="$(cd "$(dirname "$0")" && pwd)"

# Prints one line that says what is wrong and what to do, and ends the script.
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

find_daemon() {
  local path
  for path in "${SANDGLASSD:-}" "$HERE/../build/bin/sandglassd" \
    "$HERE/../../sbin/sandglassd" /usr/local/sbin/sandglassd /usr/sbin/sandglassd; do
    if [[ -x $path ]]; then
      printf '%s' "$path"
      return
    fi
  done
  die "there is no sandglassd; run: cmake --preset release && cmake --build build"
}

# has_range FILE: whether the user has subordinate ids in it.
has_range() {
  awk -F: -v name="$(id -un)" -v uid="$EUID" \
    '($1 == name || $1 == uid) && $3 > 0 {found = 1} END {exit !found}' "$1" 2>/dev/null
}

# The profile for this script, as a clone, a bundle and packages have it.
find_profile() {
  local path
  for path in "$HERE/apparmor/sandglass-rootless" \
    "$HERE/../../share/sandglass/apparmor/sandglass-rootless"; do
    if [[ -f $path ]]; then
      realpath "$path"
      return
    fi
  done
  printf 'deploy/apparmor/sandglass-rootless'
}

sysctl_is() {
  [[ -r /proc/sys/$1 && $(<"/proc/sys/$1") == "$2" ]]
}

IN_NAMESPACE=(unshare --user --map-root-user --map-auto --mount --)

check_user_namespace() {
  local error program file
  for program in newuidmap newgidmap; do
    command -v "$program" >/dev/null ||
      die "there is no $program; run: sudo apt-get install uidmap"
  done
  for file in /etc/subuid /etc/subgid; do
    has_range "$file" ||
      die "$file has no range for $(id -un); run: sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)  (or another range that is free there)"
  done
  [[ $(unshare --help) == *--map-auto* ]] ||
    die "unshare is too old; this needs util-linux 2.38"
  error="$("${IN_NAMESPACE[@]}" true 2>&1)" && return
  if sysctl_is user/max_user_namespaces 0; then
    die "this host allows no user namespaces; run: sudo sysctl user.max_user_namespaces=10000"
  elif sysctl_is kernel/unprivileged_userns_clone 0; then
    die "only root may make user namespaces here; run: sudo sysctl kernel.unprivileged_userns_clone=1"
  elif sysctl_is kernel/apparmor_restrict_unprivileged_userns 1; then
    file="$(find_profile)"
    die "AppArmor keeps user namespaces from programs without a profile; run: sudo cp $file /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/sandglass-rootless"
  fi
  die "no user namespace could be made: $error"
}

has_user_manager() {
  [[ -n ${XDG_RUNTIME_DIR:-} ]] && command -v systemd-run >/dev/null &&
    systemctl --user show-environment >/dev/null 2>&1
}

# The directory of this shell's group on cgroup v2; empty where there is none.
v2_group() {
  local mount group
  mount="$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)"
  group="$(sed -n 's/^0:://p' /proc/self/cgroup)"
  [[ -z $mount ]] || printf '%s%s' "$mount" "${group%/}"
}

main() {
  ((EUID != 0)) || die "this is for ordinary users; as root start sandglassd itself"
  local daemon group launch=() options=(--supervise)
  [[ " $* " == *' --check '* || " $* " == *' --sweep'* ]] && options=()
  daemon="$(find_daemon)"
  check_user_namespace
  [[ " $*" == *' --state-dir'* ]] ||
    options+=(--state-dir "${XDG_RUNTIME_DIR:-$HOME/.local/state}/sandglass")
  if [[ " $*" != *' --cache-dir'* ]]; then
    # The daemon becomes another uid, which must get there: not below a private
    # home. Nobody else may own it: its content runs in every jail.
    local cache=/var/tmp/sandglass-$EUID
    mkdir -m 711 "$cache" 2>/dev/null || [[ -d $cache && -O $cache && ! -L $cache ]] ||
      die "$cache is there and not yours; pass another with --cache-dir"
    options+=(--cache-dir "$cache")
  fi
  if has_user_manager; then
    # A scope keeps this process, its terminal and its signals.
    launch=(systemd-run --user --scope --quiet --collect -p Delegate=yes --)
  else
    group="$(v2_group)"
    [[ -n $group && -w $group && -w $group/cgroup.procs ]] ||
      die "there is no systemd user manager (log in properly, or: sudo loginctl enable-linger $(id -un); export XDG_RUNTIME_DIR=/run/user/$EUID), and the control group ${group:-(none)} is not yours; docs/rootless.md says how root hands one over"
  fi
  exec "${launch[@]}" "${IN_NAMESPACE[@]}" \
    "$daemon" "${options[@]}" "$@"
}

main "$@"
