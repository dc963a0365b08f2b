#!/bin/bash
# Proves the README's two commands on a Debian with nothing preinstalled: a
# tree made by mmdebstrap (variant minbase) with a fresh clone of HEAD in it.
# Run by hand; takes as long as both commands do on a new machine.
#
#   sudo tests/by_hand/clean_machine.sh [--suite NAME] [--quickstart-only] [--keep]
#       [-- OPTION…]
#
#   --suite NAME       the release, bookworm (Debian 12) or trixie (13)
#   --quickstart-only  leave out tests/run.sh
#   --keep             leave the tree in place and print where it is
#   -- OPTION…         options for tests/run.sh
#
# Where packages come from (apt's Debian sources and Acquire options, npm's
# registry, proxies, certificates) is taken from this machine as it runs. The
# commands run in mount and pid namespaces of their own: nothing that they
# mount or start outlives this script. The kernel and its cgroups are the
# host's.
set -euo pipefail
source "$(dirname "$0")/../../deploy/common.sh"
source "$(dirname "$0")/../../deploy/debian_tree.sh"

tree=''
keep=no

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  [[ -z $tree ]] && exit "$code"
  if [[ $keep == yes ]]; then
    say "The tree is kept in $tree"
  else
    # Mounts were made in a namespace that is gone; --one-file-system is for
    # the case that it isn't.
    rm -rf --one-file-system "$tree"
  fi
  exit "$code"
}

# Certificates of this machine's own, under the names that fit the tree.
copy_certificates() {
  mkdir -p "$tree/usr/local/share" "$tree/opt"
  if [[ -d /usr/local/share/ca-certificates ]]; then
    cp -rL /usr/local/share/ca-certificates "$tree/usr/local/share/"
  fi
  if [[ -r /etc/ssl/certs/ca-certificates.crt ]]; then
    cp -L /etc/ssl/certs/ca-certificates.crt "$tree/opt/ca.crt"
  fi
  cp -L /etc/resolv.conf /etc/hosts "$tree/etc/"
}

copy_clone() {
  [[ -z "$(git -c safe.directory='*' -C "$SANDGLASS_ROOT" status --porcelain)" ]] ||
    say "note: changes that are not committed are not in the clone that is tested"
  mkdir -p "$tree/src"
  GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
    git clone -q --no-hardlinks "$SANDGLASS_ROOT" "$tree/src/sandglass"
}

# The environment that stands for this machine's network inside the tree.
network_environment() {
  local name registry
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    if [[ -n ${!name:-} ]]; then printf '%s=%s\n' "$name" "${!name}"; fi
  done
  if [[ -f $tree/opt/ca.crt ]]; then
    printf 'npm_config_cafile=/opt/ca.crt\nNODE_EXTRA_CA_CERTS=/opt/ca.crt\n'
  fi
  registry="$(npm config get registry 2>/dev/null)" || true
  if [[ -n $registry ]]; then printf 'npm_config_registry=%s\n' "$registry"; fi
}

# enter COMMAND…: runs it in the tree, with /proc, /sys and /dev.
enter() {
  local environment
  mapfile -t environment < <(network_environment)
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount --pid --fork --kill-child --propagation private -- \
    /bin/bash -euc '
      tree=$1 workloads=$2
      shift 2
      # A real root, by pivot_root: the kernel makes no user namespace for a
      # process in a chroot.
      mount --bind "$tree" "$tree"
      cd "$tree"
      mount -t proc proc proc
      mount --rbind /sys sys
      mount --rbind /dev dev
      mount -t tmpfs -o mode=755 tmpfs run
      if [ -d "$workloads" ]; then
        mkdir -p src/shared/workloads
        mount --bind -o ro "$workloads" src/shared/workloads
      fi
      mkdir -p .host
      pivot_root . .host
      exec chroot . /bin/bash -euc "umount -l /.host; rmdir /.host; exec \"\$@\"" in-tree "$@"
    ' enter "$tree" "${SANDGLASS_WORKLOADS:-$SANDGLASS_ROOT/../shared/workloads}" \
    /usr/bin/env -i HOME=/root LANG=C.UTF-8 CI="${CI:-}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "${environment[@]}" \
    /bin/bash -c 'cd /src/sandglass && exec "$@"' in-clone "$@"
}

# timed LABEL COMMAND…
timed() {
  local label=$1 start=$SECONDS code=0
  shift
  say "=== $label"
  enter "$@" || code=$?
  say "=== $label: exit code $code after $((SECONDS - start)) s"
  return "$code"
}

main() {
  local quickstart_only=no
  while (($# > 0)); do
    case $1 in
      --suite) suite=${2:?--suite takes a NAME}; shift ;;
      --quickstart-only) quickstart_only=yes ;;
      --keep) keep=yes ;;
      --) shift; break ;;
      *) say "usage: sudo $0 [--suite NAME] [--quickstart-only] [--keep] [-- OPTION…]" >&2; exit 2 ;;
    esac
    shift
  done
  need_root
  command -v mmdebstrap >/dev/null ||
    die "this needs mmdebstrap; run: apt-get install mmdebstrap"

  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  # Not /tmp: it may be small or noexec.
  tree="$(mktemp -d "${TMPDIR:-/var/tmp}/sandglass-clean.XXXXXX")"
  # apt downloads as a user of its own.
  chmod 755 "$tree"

  run_step "Making a bare Debian ($suite)" "$tree.log" debian_tree "$tree" ||
    die "no tree could be made; see above"
  rm -f "$tree.log"
  copy_certificates
  copy_clone

  timed './deploy/quickstart.sh' ./deploy/quickstart.sh
  timed './deploy/quickstart.sh again' ./deploy/quickstart.sh
  if [[ $quickstart_only == yes ]]; then
    say "The quickstart works on a bare Debian ($suite)."
    return
  fi
  timed "./tests/run.sh $*" ./tests/run.sh "$@"
  say "Both commands work on a bare Debian ($suite)."
}

main "$@"
