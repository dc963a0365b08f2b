#!/bin/bash
# Makes the bundle and the wheel of a build, and looks at what is in them, what
# they need of a machine, and whether they work where only root may come.
#
#   tests/package/bundle.sh BUILD_DIR
set -euo pipefail
source "$(dirname "$0")/../../deploy/common.sh"

build="$(cd "${1:?usage: bundle.sh BUILD_DIR}" && pwd)"
MOST_KIB=20480
work="$(mktemp -d /tmp/sandglass-test-XXXXXX)"
failed=0
top=''

wrong() {
  say "wrong: $*"
  failed=1
}

# shellcheck disable=SC2317 # by a trap
clean_up() {
  [[ -z $top || ! -x $top/sandglass ]] ||
    "$top/sandglass" down --now --state-dir "$work/state" >/dev/null 2>&1 || true
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT

need_tools() {
  local tool
  for tool in ldd newuidmap objdump setpriv strip tar zstd; do
    command -v "$tool" >/dev/null && continue
    say "there is no $tool; run: sudo deploy/install-deps.sh --test"
    [[ ${SANDGLASS_MUST_RUN:-} == 1 ]] && exit 1
    exit 77
  done
}

# Nothing comes from the build or from this machine's own libraries but those of
# the system.
needs_only_the_system() {
  local file strange
  for file in "$top/bin/sandglass" "$top/sbin/sandglassd"; do
    strange="$(ldd "$file" | awk '$2 == "=>" {print $3}' | grep -v "^$(realpath "$top")/" |
      grep -vE '/(libc|libm|libgcc_s|libstdc\+\+|libresolv|libdl|libpthread|librt)\.so' || true)"
    # ldd shows a path as it was put together.
    strange="$(for library in $strange; do
      [[ $(realpath "$library") == "$(realpath "$top")"/* ]] || say "$library"
    done)"
    [[ -z $strange ]] || wrong "${file##*/} takes from the machine: $strange"
  done
  for file in "$top"/libexec/sandglass/sandglass-{spawner,egress}; do
    [[ $(ldd "$file") == *'statically linked'* ]] || wrong "${file##*/} needs libraries"
  done
  # Paths of whoever built it.
  ! grep -rlF "$build" "$top" || wrong 'these files name the build'
}

# Where only root may come, and by another path than it was packed under.
works() {
  local box=$work/private
  mkdir -m 700 "$box"
  mv "$top" "$box/moved"
  top=$box/moved
  printf '{"uid_base": 700000000, "canaries": false}' >"$work/config.json"
  "$top/sandglass" up --state-dir "$work/state" -- --config "$work/config.json" \
    --cache-dir "$work/cache" >"$work/up" 2>&1 || wrong "up: $(<"$work/up")"
  local answer
  answer="$("$top/sandglass" --address "unix:$work/state/sandglass.sock" run -q -l python \
    -c 'print(6 * 7)' 2>&1)" || true
  [[ $answer == 42 ]] || wrong "a run says '$answer'"
  answer="$("$top/sandglass" down --state-dir "$work/state" 2>&1)" || true
  [[ $answer == 'sandglassd is down' ]] || wrong "down says '$answer'"
  [[ ! -e $work/state && ! -e $work/state-up ]] || wrong 'something is left'
}

# As an ordinary user whose home is private: an account and ranges of ids that
# only this mount namespace has, and control groups that root hands over.
works_as_a_user() {
  local home=$work/home uid=54321 file words
  mkdir -m 711 "$work/user"
  chmod 711 "$work"
  mkdir -m 700 "$home" "$work/user/run"
  cp -r "$top" "$home/sandglass"
  chown -R "$uid:$uid" "$home" "$work/user/run"
  for file in passwd group subuid subgid; do
    cat "/etc/$file" >"$work/user/$file" 2>/dev/null || : >"$work/user/$file"
  done
  printf 'sgtest:x:%d:%d::%s:/bin/sh\n' "$uid" "$uid" "$home" >>"$work/user/passwd"
  printf 'sgtest:x:%d:\n' "$uid" >>"$work/user/group"
  printf 'sgtest:2100000000:65536\n' | tee -a "$work/user/subuid" >>"$work/user/subgid"
  # shellcheck disable=SC2016 # for the inner shells
  words="$(unshare --mount --propagation private bash -euc '
    work=$1 uid=$2
    for file in passwd group subuid subgid; do mount --bind "$work/user/$file" "/etc/$file"; done
    # Where this shell is in each hierarchy that matters, before it goes elsewhere.
    mapfile -t lines </proc/self/cgroup
    for line in "${lines[@]}"; do
      IFS=: read -r _ controllers path <<<"$line"
      case ",$controllers," in
        ,,) mount="$(awk "\$3 == \"cgroup2\" {print \$2; exit}" /proc/mounts)" ;;
        *,memory,* | *,pids,* | *,cpu,*) mount="$(awk -v c="$controllers" "
          \$3 == \"cgroup\" && index(\",\" \$4 \",\", \",\" c \",\") {print \$2; exit}" /proc/mounts)" ;;
        *) continue ;;
      esac
      [[ -n $mount ]] || continue
      group=${mount}${path%/}/sandglass-test-$$
      mkdir "$group"
      echo "$group" >>"$work/groups"
      chown "$uid" "$group"
      for file in cgroup.procs tasks cgroup.threads cgroup.subtree_control; do
        [[ ! -e $group/$file ]] || chown "$uid" "$group/$file"
      done
      echo $$ >"$group/cgroup.procs"
    done
    exec setpriv --reuid "$uid" --regid "$uid" --clear-groups --reset-env \
      env XDG_RUNTIME_DIR="$work/user/run" bash -c "
        cd ~/sandglass && ./sandglass up >/dev/null && ./sandglass run -q -l python -c \"print(6 * 7)\"
        ./sandglass down && ls -A \"\$XDG_RUNTIME_DIR\""
  ' user "$work" "$uid" 2>&1)" || true
  while read -r file; do
    find "$file" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done <"$work/groups"
  # Its content belongs to the ids of the range.
  rm -rf --one-file-system "/var/tmp/sandglass-$uid"
  [[ $words == $'42\nsandglassd is down' ]] || wrong "as a user: $words"
}

says_what_is_in_it() {
  python3 - "$top" <<'CODE' || wrong 'sandglass.spdx.json or THIRD-PARTY-NOTICES'
import json, os, sys
top = sys.argv[1]
listed = json.load(open(f"{top}/sandglass.spdx.json"))
assert listed["spdxVersion"] == "SPDX-2.3"
ids = {each["SPDXID"] for each in listed["packages"]}
names = {each["name"] for each in listed["packages"]}
for relation in listed["relationships"]:
    assert relation["relatedSpdxElement"] in ids, relation
text = open(f"{top}/THIRD-PARTY-NOTICES").read()
for each in listed["packages"]:
    assert each["versionInfo"], each
    if each["name"] != "sandglass":
        assert f"{each['name']} {each['versionInfo']}" in text, each["name"]
assert any(name.startswith("libssl") for name in names), names
assert any(name.startswith("libgrpc++") for name in names), names
assert len(os.listdir(f"{top}/lib/sandglass")) > 50
CODE
}

main() {
  need_tools
  need_root
  local out archive size
  for out in one two; do
    "$SANDGLASS_ROOT/deploy/bundle.sh" --build "$build" "$work/$out" >"$work/said" 2>&1 ||
      { cat "$work/said"; exit 1; }
  done
  cmp "$work"/one/*.tar.zst "$work"/two/*.tar.zst || wrong 'two bundles of one build differ'
  cmp "$work"/one/*.whl "$work"/two/*.whl || wrong 'two wheels of one build differ'
  archive="$(echo "$work"/one/sandglass-*-linux-*.tar.zst)"
  (cd "$work/one" && sha256sum --quiet -c ./*.sha256) || wrong 'the checksum'
  size=$(($(stat -c %s "$archive") / 1024))
  ((size <= MOST_KIB)) || wrong "$size KiB are more than $MOST_KIB"
  tar --zstd -xf "$archive" -C "$work"
  top="$(echo "$work"/sandglass-*/)"
  top=${top%/}
  [[ "$(basename "$archive" .tar.zst)" == "$(basename "$top")" ]] || wrong "the folder is $top"
  needs_only_the_system
  says_what_is_in_it
  works_as_a_user
  works
  say "$size KiB"
  exit "$failed"
}

main "$@"
