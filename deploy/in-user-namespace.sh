#!/bin/sh
# For containers that give root no CAP_SYS_ADMIN: runs a command, such as
# sandglassd, as root of a new user namespace with all ids of the container, and
# of a new mount namespace. docs/container.md says what the container must allow.
#
#   in-user-namespace.sh COMMAND…
set -eu

me=$$
home=$(readlink /proc/self/ns/user)
# Forked twice, so that the command has no child that it never made; each map is
# taken in one write only.
(
  (
    tries=0
    until [ "$(readlink "/proc/$me/ns/user")" != "$home" ]; do
      tries=$((tries + 1))
      [ "$tries" -lt 500 ] || exit 1
      sleep 0.01
    done
    for map in gid_map uid_map; do
      awk '{print $1, $1, $3}' "/proc/self/$map" >"/tmp/$map.$me"
      code=0
      cat "/tmp/$map.$me" >"/proc/$me/$map" || code=$?
      rm "/tmp/$map.$me"
      if [ "$code" != 0 ]; then
        page=/usr/local/share/doc/sandglass/docs/container.md
        [ -e "$page" ] || page=docs/container.md
        echo "in-user-namespace.sh: can't map ids; the container needs" \
          "CAP_SETUID, CAP_SETGID and CAP_SETFCAP: see $page" >&2
        exit 1
      fi
    done
  ) &
)
# shellcheck disable=SC2016 # expanded by the inner shell
exec unshare --user --mount -- /bin/sh -c '
  tries=0
  until [ "$(id -u)" = 0 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 500 ] || exit 1
    sleep 0.01
  done
  exec "$@"' in-user-namespace "$@"
