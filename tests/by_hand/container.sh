#!/bin/bash
# Starts the daemon in containers with fewer and fewer rights and says of each
# what comes of it: the table in docs/container.md. By hand; half a minute, and
# the making of a tree.
#
#   sudo tests/by_hand/container.sh [--runtime crun|runc] [--tree DIR]
#
#   --runtime  which one; runc if not said. No engine is needed: the
#              configuration is what `docker run` would give it
#   --tree     a root file system to use, for example "/" bound somewhere; if
#              not said one is made with mmdebstrap, as the Dockerfile makes it
#
# Needs the release build (build/), root, and the package
# golang-github-containers-common for its filter of system calls. The control
# groups are the host's: see docs/container.md for a host that isn't v2 alone.
set -euo pipefail
source "$(dirname "$0")/../../deploy/common.sh"
source "$(dirname "$0")/../../deploy/debian_tree.sh"

NAME=sandglass-container-test

runtime=runc
tree=''
work=''
container=''  # the pid of the runtime that this run started

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  end_container
  [[ -z $work ]] || rm -rf --one-file-system "$work"
  exit "$code"
}

end_container() {
  local _
  [[ -n $container ]] || return 0
  "$runtime" --root "$work/runtime" kill "$NAME" TERM 2>/dev/null || true
  for _ in {1..50}; do
    kill -0 "$container" 2>/dev/null || break
    sleep 0.1
  done
  "$runtime" --root "$work/runtime" delete --force "$NAME" 2>/dev/null || true
  wait "$container" 2>/dev/null || true
  container=''
}

make_tree() {
  local packages
  mapfile -t packages < <("$SANDGLASS_ROOT/deploy/install-deps.sh" --list-run)
  debian_tree "$work/tree" --include="$(IFS=,; echo "${packages[*]}")"
  DESTDIR=$work/tree cmake --install "$SANDGLASS_ROOT/build" --prefix /usr/local --strip
  cp "$SANDGLASS_ROOT/deploy/in-user-namespace.sh" "$work/tree/usr/local/sbin/"
}

client() { "$SANDGLASS_ROOT/build/bin/sandglass" --address "unix:$work/socket/sandglass.sock" "$@"; }

# outcome OPTION…: runs a program and says how it ended.
outcome() {
  local got
  got="$(client run "$@" 2>&1 | sed -n 's/^sandglass: \([A-Z_]*\) after.*/\1/p')" || true
  printf ' %s' "${got:-nothing}"
}

# attempt LABEL OPTION… [-- WRAPPER…]: one container.
attempt() {
  local label=$1 options=() bundle=$work/bundle state _
  shift
  while (($# > 0)) && [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  (($# == 0)) || shift
  rm -rf "$bundle" "$work/socket"
  state=/run/sandglass/state
  mkdir -p "$bundle" "$work/socket"
  [[ " ${options[*]} " != *' --userns-remap '* ]] || chown 1879300000 "$work/socket"
  [[ -e /sys/fs/cgroup/cgroup.controllers ]] || options+=(--host-cgroups)
  /usr/bin/python3 -I "$SANDGLASS_ROOT/tests/support/host/container_config.py" \
    --rootfs "$tree" --socket-dir "$work/socket" "${options[@]}" -- \
    "$@" sandglassd --listen unix:/run/sandglass/sandglass.sock --state-dir "$state" \
    >"$bundle/config.json"
  "$runtime" --root "$work/runtime" run --bundle "$bundle" "$NAME" \
    >"$work/log" 2>&1 </dev/null &
  container=$!
  for _ in {1..150}; do
    client info >/dev/null 2>&1 && break
    kill -0 "$container" 2>/dev/null || break
    sleep 0.1
  done
  printf '%s\n   ' "$label"
  if client info >/dev/null 2>&1; then
    printf 'starts;'
    outcome -l python -c 'print(6 * 7)'
    outcome -l python -c 'x = bytearray(1 << 30)'
    outcome -l python -c 'while True: pass' --timeout 1s
    outcome -l python -c 'import os, time; [os.fork() or time.sleep(9) for _ in range(99)]'
    printf '\n'
  else
    printf 'fails: %s\n' "$(grep -vE ' (info|warning) ' "$work/log" | tail -n 2 | tr '\n' ' ')"
  fi
  end_container
}

main() {
  while (($# > 0)); do
    case $1 in
      --runtime | --tree)
        (($# >= 2)) || die 'usage: container.sh [--runtime crun|runc] [--tree DIR]'
        printf -v "${1#--}" '%s' "$2"
        shift
        ;;
      *) die 'usage: container.sh [--runtime crun|runc] [--tree DIR]' ;;
    esac
    shift
  done
  need_root
  command -v "$runtime" >/dev/null || die "there is no $runtime; run: apt-get install $runtime"
  [[ -r /usr/share/containers/seccomp.json ]] ||
    die "this needs a filter of system calls; run: apt-get install golang-github-containers-common"
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  work="$(mktemp -d "${TMPDIR:-/var/tmp}/sandglass-container.XXXXXX")"
  chmod 711 "$work"
  if [[ -z $tree ]]; then
    run_step 'Making the tree' "$work/tree.log" make_tree
    tree=$work/tree
  fi

  local least=(--cap-drop-all) five=() right
  for right in SYS_ADMIN CHOWN FOWNER SETUID SETGID SETPCAP; do least+=(--cap-add "$right"); done
  attempt 'docker run'
  attempt 'docker run --privileged --cgroupns=private' --privileged
  attempt '… --cap-add SYS_ADMIN, groups writable' --cap-add SYS_ADMIN --writable-cgroup
  attempt '… and --security-opt seccomp=unconfined, groups not writable' \
    --cap-add SYS_ADMIN --seccomp-unconfined
  attempt '… and groups writable' --cap-add SYS_ADMIN --seccomp-unconfined --writable-cgroup
  attempt '… with six capabilities and no_new_privs' "${least[@]}" --no-new-privileges \
    --seccomp-unconfined --writable-cgroup
  attempt '… with the default filter and pivot_root' "${least[@]}" --no-new-privileges \
    --allow-pivot-root --writable-cgroup
  for right in SYS_ADMIN CHOWN FOWNER SETUID SETGID SETPCAP; do
    mapfile -t five < <(printf '%s\n' "${least[@]}" | grep -vxF -e --cap-add -e "$right" |
      sed 's/^[^-].*/--cap-add=&/')
    attempt "… six without $right" "${five[@]}" --seccomp-unconfined --writable-cgroup
  done
  attempt 'no capability added, own user namespace, seccomp=unconfined, groups writable' \
    --seccomp-unconfined --writable-cgroup -- in-user-namespace.sh
  attempt '… and systempaths=unconfined' --seccomp-unconfined --writable-cgroup \
    --systempaths-unconfined -- in-user-namespace.sh
  attempt 'userns-remap, --cap-add SYS_ADMIN, seccomp=unconfined, groups writable' \
    --userns-remap --cap-add SYS_ADMIN --seccomp-unconfined --writable-cgroup
}

main "$@"
