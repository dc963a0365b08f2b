#!/bin/bash
# Stands in for sandglassd in the tests of the real daemon and starts it as an
# ordinary user would: as root in a user namespace that maps one uid without
# rights and 65535 subordinate ones, in control groups that belong to that uid.
# Run by root, which makes both; no account is needed for it.
#
#   SANDGLASS_TEST_DAEMON=$PWD/build/bin/rootless_daemon.sh build/bin/sandglass_e2e_test
#
# The build puts a link to it beside sandglassd. Takes sandglassd's options, --state-dir among them. With --sweep it also
# removes the control groups that it made for that state directory.
set -euo pipefail

UID_OUTSIDE=1879200000
daemon="$(cd "$(dirname "$0")" && pwd)/sandglassd"

state=''
cache=''
sweep=no
previous=''
for option in "$@"; do
  [[ $previous == --state-dir ]] && state=$option
  [[ $previous == --cache-dir ]] && cache=$option-rootless
  [[ $option == --sweep ]] && sweep=yes
  previous=$option
done
[[ -n $state ]] || { echo "${0##*/}: --state-dir is missing" >&2; exit 78; }

# Directories for this daemon's groups: in this process's own groups on v1, and
# in the root on v2, where alone a group with processes can have others below
# that have controllers. New ones for each start: no process can enter a group
# that hands out controllers, as that of a killed daemon goes on to do.
groups=()
name=sandglass-user-$(cksum <<<"$state" | cut -d' ' -f1)-
while read -r _ point type options; do
  case $type in
    cgroup2) groups+=("$point/$name") ;;
    cgroup)
      for controller in memory pids cpu; do
        [[ ,$options, == *,"$controller",* ]] || continue
        own="$(awk -F: -v c="$controller" '$2 ~ "(^|,)" c "(,|$)" {print $3}' /proc/self/cgroup)"
        groups+=("$point${own%/}/$name")
        break
      done
      ;;
  esac
done < <(awk '{print $1, $2, $3, $4}' /proc/mounts)

if [[ $sweep == yes ]]; then
  code=0
  "$daemon" "$@" || code=$?
  for group in "${groups[@]}"; do
    for each in "$group"*; do
      if [[ -d $each ]]; then find "$each" -depth -type d -exec rmdir {} + || code=1; fi
    done
  done
  exit "$code"
fi

groups=("${groups[@]/%/$$}")
mkdir -p "${groups[@]}"
for group in "${groups[@]}"; do
  for controller in memory pids cpu; do
    echo "+$controller" 2>/dev/null >"${group%/*}/cgroup.subtree_control" || true
  done
  for file in '' /cgroup.procs /tasks /cgroup.threads /cgroup.subtree_control; do
    [[ ! -e $group$file ]] || chown "$UID_OUTSIDE:$UID_OUTSIDE" "$group$file"
  done
done
chown "$UID_OUTSIDE:$UID_OUTSIDE" "$(dirname "$state")"
if [[ -n $cache ]]; then
  # Not the one that the other tests use: it belongs to a uid that isn't mapped.
  mkdir -p "$cache"
  [[ -e $cache/prepared ]] || chown "$UID_OUTSIDE:$UID_OUTSIDE" "$cache"
  arguments=()
  previous=''
  for option in "$@"; do
    [[ $previous == --cache-dir ]] && option=$cache
    arguments+=("$option")
    previous=$option
  done
  set -- "${arguments[@]}"
fi

# Writes the maps once this process has its user namespace. Forked twice, so that
# the daemon doesn't find a child that it never made.
(
  me=$$
  old="$(readlink /proc/self/ns/user)"
  (
    for _ in {1..500}; do
      [[ "$(readlink "/proc/$me/ns/user")" == "$old" ]] || break
      sleep 0.01
    done
    [[ -e /proc/$me ]] || exit 1
    for map in gid_map uid_map; do
      # By cat: a map is taken in one write only.
      cat >"/proc/$me/$map" <<<"0 $UID_OUTSIDE 1
1 $((UID_OUTSIDE + 1)) 65535"
    done
  ) &
)
for group in "${groups[@]}"; do echo $$ >"$group/cgroup.procs"; done
# shellcheck disable=SC2016 # expanded by the inner shell
exec setpriv --reuid "$UID_OUTSIDE" --regid "$UID_OUTSIDE" --clear-groups \
  unshare --user --mount -- /bin/sh -c '
    until [ "$(id -u)" = 0 ]; do sleep 0.01; done
    exec "$@"' sh "$daemon" "$@"
