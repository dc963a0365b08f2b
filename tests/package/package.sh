#!/bin/bash
# Makes the Debian package of a build and looks at it: what is in it, what it
# asks for, its manual pages, and what lintian says.
#
# usage: package.sh BUILD-DIR
set -euo pipefail
source "$(dirname "$0")/../../deploy/common.sh"

bad=0
wrong() {
  say "$*"
  bad=1
}

# Exit code 77 where a tool isn't there, or a failure where all have to be.
need_tools() {
  local tool
  for tool in col cpack dpkg-deb dpkg-shlibdeps file lintian man strip; do
    command -v "$tool" >/dev/null && continue
    say "there is no $tool; run: sudo deploy/install-deps.sh --test"
    [[ ${SANDGLASS_MUST_RUN:-} == 1 ]] && exit 1
    exit 77
  done
}

has_all_files() {
  local path mode wanted
  while read -r mode path; do
    wanted="$(awk -v path="./$path" '$6 == path {print $1 " " $2}' "$work/files")"
    [[ $wanted == "$mode root/root" ]] ||
      wrong "$path is '${wanted:-not there}', not '$mode root/root'"
  done <<'FILES'
-rw-r--r-- etc/sandglass/sandglassd.json
-rwxr-xr-x usr/bin/sandglass
-rwxr-xr-x usr/sbin/sandglassd
-rwxr-xr-x usr/sbin/sandglass-gateway
-rwxr-xr-x usr/libexec/sandglass/sandglass-egress
-rwxr-xr-x usr/libexec/sandglass/sandglass-spawner
-rw-r--r-- usr/libexec/sandglass/sandglass-zygote-python.so
-rw-r--r-- usr/libexec/sandglass/sandglass-zygote-ruby.so
-rw-r--r-- usr/lib/systemd/system/sandglassd.service
-rw-r--r-- usr/lib/sysusers.d/sandglass.conf
-rw-r--r-- usr/lib/tmpfiles.d/sandglass.conf
-rw-r--r-- usr/share/doc/sandglass/changelog.Debian.gz
-rw-r--r-- usr/share/doc/sandglass/copyright
-rw-r--r-- usr/share/doc/sandglass/demo/pi.py
-rw-r--r-- usr/share/doc/sandglass/docs/configuration.md
-rw-r--r-- usr/share/doc/sandglass/docs/troubleshooting.md
-rw-r--r-- usr/share/bash-completion/completions/sandglass
-rw-r--r-- usr/share/zsh/vendor-completions/_sandglass
-rw-r--r-- usr/share/fish/vendor_completions.d/sandglass.fish
-rwxr-xr-x usr/libexec/sandglass/sandglass-rootless
-rw-r--r-- usr/share/man/man1/sandglass.1.gz
-rw-r--r-- usr/share/man/man5/sandglassd.json.5.gz
-rw-r--r-- usr/share/man/man8/sandglassd.8.gz
-rw-r--r-- usr/share/man/man8/sandglass-gateway.8.gz
-rw-r--r-- usr/share/sandglass/policy/profiles/default.json
FILES
  diff -r "$SANDGLASS_ROOT/policy/data" "$work/tree/usr/share/sandglass/policy" ||
    wrong 'the policy is not that of the source'
  diff "$SANDGLASS_ROOT/deploy/sandglassd.json" "$work/tree/etc/sandglass/sandglassd.json" ||
    wrong 'the configuration is not that of the source'
  # Whatever isn't named above is policy or documentation.
  local other
  other="$(awk '!/^d/ {print $6}' "$work/files" | grep -vE \
    '^./(etc/sandglass/sandglassd\.json|usr/(s?bin|libexec/sandglass)/sandglass[a-z.-]*|usr/lib/(systemd/system|sysusers\.d|tmpfiles\.d)/sandglassd?\.(service|conf)|usr/share/(doc/sandglass|sandglass/policy|sandglass/apparmor|man/man[158]|lintian/overrides|bash-completion/completions|zsh/vendor-completions|fish/vendor_completions\.d)/.*)$')" || true
  [[ -z $other ]] || wrong "not expected: $other"
}

# Each may be looked into by everybody, whatever the umask was.
directories_are_open() {
  local closed
  closed="$(awk '/^d/ && ($1 != "drwxr-xr-x" || $2 != "root/root")' "$work/files")"
  [[ -z $closed ]] || wrong "directories: $closed"
}

control_is_right() {
  local field
  field="$(dpkg-deb -f "$package" Depends)"
  for wanted in libgrpc++1.51 libseccomp2 systemd; do
    # Debian 13 gave some libraries new names when time_t became longer.
    [[ ", $field," =~ ", $wanted"(t64)?[,\ ] ]] ||
      wrong "doesn't depend on $wanted: $field"
  done
  [[ $(<"$work/control/conffiles") == /etc/sandglass/sandglassd.json ]] ||
    wrong "conffiles: $(<"$work/control/conffiles")"
  local script
  for script in postinst prerm postrm; do
    cmp "$SANDGLASS_ROOT/deploy/deb/$script.sh" "$work/control/$script" || wrong "$script differs"
  done
  # The changelog begins with this version.
  [[ $(zcat "$work/tree/usr/share/doc/sandglass/changelog.Debian.gz" | head -n 1) == \
    "sandglass ($(dpkg-deb -f "$package" Version)) "* ]] ||
    wrong "deploy/deb/changelog doesn't begin with $(dpkg-deb -f "$package" Version)"
  local version
  version="$("$work/tree/usr/sbin/sandglassd" --version)"
  [[ $(dpkg-deb -f "$package" Version) == "$version"-* ]] ||
    wrong "the daemon is $version, the package $(dpkg-deb -f "$package" Version)"
}

# page FILE: its text, without a word cut or filled in.
page() {
  MANROFFOPT=-rHY=0 MANWIDTH=400 man --warnings -l "$1" 2>"$work/man.warnings" | col -bx | sed 's/‐/-/g'
  [[ ! -s $work/man.warnings ]] || cat "$work/man.warnings" >&2
}

# Every option of the daemon, every command of the client, every key.
manual_is_complete() {
  local man=$work/tree/usr/share/man word
  page "$man/man8/sandglassd.8.gz" >"$work/sandglassd"
  for word in $("$work/tree/usr/sbin/sandglassd" --help | grep -oE '^  (-[hV],)?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    grep -qE -- "$word( |$)" "$work/sandglassd" || wrong "sandglassd(8) has no $word"
  done
  page "$man/man8/sandglass-gateway.8.gz" >"$work/gateway"
  for word in $("$work/tree/usr/sbin/sandglass-gateway" --help | grep -oE '^  (-[hV],)?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    grep -qE -- "$word( |$)" "$work/gateway" || wrong "sandglass-gateway(8) has no $word"
  done
  page "$man/man1/sandglass.1.gz" >"$work/sandglass"
  for word in $("$work/tree/usr/bin/sandglass" --help | sed -n '/^Programs:/,/^Examples:/s/^  \([a-z]*\) .*/\1/p'); do
    grep -qE "^ +$word( |$)" "$work/sandglass" || wrong "sandglass(1) has no $word"
  done
  page "$man/man5/sandglassd.json.5.gz" >"$work/json"
  diff <(sed 's/^ *//' "$SANDGLASS_ROOT/deploy/sandglassd.json") \
    <(sed 's/^ *//' "$work/json" | sed -n '/^\/\/ Configuration of/,/^}$/p') ||
    wrong 'sandglassd.json(5) has not the whole sample'
}

# A purge, in a file system of its own: what is mounted at a directory stays.
purge_spares_mounts() {
  local root=$work/purged directory
  for directory in etc run var/cache var/lib var/log; do
    mkdir -p "$root/$directory/sandglass"
    touch "$root/$directory/sandglass/file"
  done
  # shellcheck disable=SC2016 # for the inner shell
  unshare --map-root-user --mount bash -c '
    mount -t tmpfs tmpfs "$1/var/lib/sandglass" && touch "$1/var/lib/sandglass/kept" || exit 1
    DPKG_ROOT=$1 sh "$2" purge 2>"$1/words"
    find "$1" -name kept' purge "$root" "$work/control/postrm" >"$work/kept"
  [[ $(<"$work/kept") == "$root/var/lib/sandglass/kept" ]] ||
    wrong "a purge leaves '$(<"$work/kept")' of what is mounted at /var/lib/sandglass"
  [[ $(find "$root" -name file) == "$root/var/lib/sandglass/file" ]] ||
    wrong "a purge leaves: $(find "$root" -name file)"
}

# What an installation says of a service that could not start, in a file system
# where systemd seems to run.
installation_tells_of_the_service() {
  local stubs=$work/stubs words
  mkdir -p "$stubs"
  for words in systemd-sysusers systemd-tmpfiles deb-systemd-helper systemctl; do
    printf '#!/bin/sh\n' >"$stubs/$words"
  done
  # shellcheck disable=SC2016 # for the inner shell
  printf '#!/bin/sh\nexit "$STARTS"\n' >"$stubs/deb-systemd-invoke"
  chmod +x "$stubs"/*
  for words in 0 1; do
    # shellcheck disable=SC2016 # for the inner shell
    STARTS=$words unshare --map-root-user --mount sh -c '
      mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system &&
      PATH="$1:$PATH" sh "$2" configure 2>"$3"' install "$stubs" "$work/control/postinst" \
      "$work/said.$words" || wrong "an installation fails where the service exits with $words"
  done
  [[ ! -s $work/said.0 ]] || wrong "an installation says: $(<"$work/said.0")"
  [[ $(<"$work/said.1") == *'could not start'*'journalctl -u sandglassd'* ]] ||
    wrong "of a service that could not start an installation says only: $(<"$work/said.1")"
}

# Its unit names only programs and files that are in the package.
unit_is_right() {
  local unit=$work/tree/usr/lib/systemd/system/sandglassd.service program file seen=0
  while read -r program _ file; do
    [[ -x $work/tree/usr/sbin/$program ]] || wrong "the unit starts $program, which isn't there"
    [[ -f $work/tree$file ]] || wrong "the unit reads $file, which isn't there"
    seen=$((seen + 1))
  done < <(sed -nE 's/^Exec[A-Za-z]*=(sandglass[a-z-]*) .*(--config) ([^ ]+)$/\1 \2 \3/p' "$unit")
  ((seen == 3)) ||
    wrong "the unit starts $seen programs with a configuration, not 3"
}

# The daemon of the package takes its policy and programs from the package.
daemon_finds_its_files() {
  local out
  # It looks beside itself, so the tree stands for the whole.
  out="$("$work/tree/usr/sbin/sandglassd" --check --config "$work/tree/etc/sandglass/sandglassd.json" || true)"
  for word in '"policy_dir": "[^"]*/tree/usr/share/sandglass/policy"' \
    '"spawner": "[^"]*/tree/usr/libexec/sandglass/sandglass-spawner"'; do
    grep -qE "$word" <<<"$out" || wrong "sandglassd --check says no $word: $out"
  done
  # The page that an error names is there.
  out="$("$work/tree/usr/sbin/sandglassd" --check --config /nonexistent.json 2>&1 || true)"
  grep -qF "See $(readlink -f "$work")/tree/usr/share/doc/sandglass/docs/configuration.md" <<<"$out" ||
    wrong "the page that an error names is not that of the package: $out"
}

build="$(cd "${1:?a build directory}" && pwd)"
need_tools
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
(umask 077 && cpack --config "$build/CPackConfig.cmake" -B "$work/out") >"$work/cpack.log" 2>&1 || {
  cat "$work/cpack.log"
  exit 1
}
package="$(find "$work/out" -maxdepth 1 -name 'sandglass_*.deb')"
dpkg-deb -c "$package" >"$work/files"
dpkg-deb -x "$package" "$work/tree"
dpkg-deb -e "$package" "$work/control"

has_all_files
directories_are_open
control_is_right
manual_is_complete
purge_spares_mounts
installation_tells_of_the_service
unit_is_right
daemon_finds_its_files
# Warnings too; what it may say is in deploy/deb/lintian-overrides.
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$package" || bad=1
exit "$bad"
