#!/bin/sh
# The image's entry: lets the container's own control groups be written, where the
# engine shows them read-only and root here may mount, closes the daemon's places to
# others, then runs the command.
#
#   entry.sh COMMAND…
#
# Quiet about what it can't do: the daemon says what it lacks.
set -u

# Every path is "/" in a cgroup namespace of the container's own. In another one
# these would be the host's groups.
if ! grep -qv ':/$' /proc/self/cgroup; then
  if ! grep -q ' cgroup2 ' /proc/mounts; then
    # Controllers are on v1, and engines leave out what stands beside them.
    mkdir -p /run/cgroup2 && mount -t cgroup2 none /run/cgroup2
  fi
  awk '$3 ~ /^cgroup/ && $4 ~ /^ro,/ &&
    ($3 == "cgroup2" || $4 ~ /,(memory|pids|cpu)(,|$)/) {print $2}' /proc/mounts |
    while read -r point; do mount -o remount,bind,rw "$point"; done
fi 2>/dev/null

# Volumes of Kubernetes come open to everybody, and who else has one mounted could
# put a socket of its own there. No others' than root's are touched.
for place in /run/sandglass /var/lib/sandglass /var/cache/sandglass; do
  [ -O "$place" ] && chmod o-w "$place"
done 2>/dev/null

exec "$@"
