#!/bin/bash
# Makes a folder of Sandglass that runs on any Linux with glibc 2.36 or newer
# without installing anything, packed into one archive; and the same as a wheel,
# sandglass-daemon, which pip installs.
#
#   ./deploy/bundle.sh [--release] [--build DIR] [OUT_DIR]
#
#   --release     refuse libraries for which apt knows a later version
#   --build DIR   take what was built there, instead of building in build/
#   OUT_DIR       where both go (default: build/)
#
# In it is every library but those of glibc and of the compiler, with their
# licences and a list of them (SPDX). The same sources and libraries make the
# same bytes.
set -euo pipefail
source "$(dirname "$0")/common.sh"

PROGRAMS=(sandglass sandglassd sandglass-spawner sandglass-egress-static
  sandglass-zygote-python sandglass-zygote-ruby)
# What every machine has, and has to have in its own version.
SYSTEM='^(linux-vdso|ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv|libutil|libanl|libgcc_s|libstdc\+\+)\.so'
# What programs of Debian 12, Ubuntu 24.04 and Fedora 40 may ask for.
MOST_GLIBC=2.36
MOST_GLIBCXX=3.4.30

build=$SANDGLASS_ROOT/build
out=''
made=no
release=no

usage() {
  say "usage: $0 [--release] [--build DIR] [OUT_DIR]"
}

# The libraries that a file needs, by their paths.
libraries_of() {
  ldd "$1" | awk '$2 == "=>" {print $1, $3}' | grep -vE "$SYSTEM" |
    awk '{if ($2 == "not") exit 1; print $2}' ||
    die "$1 has no libraries, or one that isn't there; see ldd $1"
}

# newest PREFIX FILE…: the highest version of that symbol family that is asked
# for.
newest() {
  local prefix=$1
  shift
  objdump -T "$@" 2>/dev/null | grep -oE "\b${prefix}_[0-9.]+" |
    sed "s/^${prefix}_//" | sort -Vu | tail -n 1
}

check_newest() {
  local prefix=$1 most=$2 found
  shift 2
  found="$(newest "$prefix" "$@")"
  [[ "$(printf '%s\n%s\n' "$found" "$most" | sort -V | tail -n 1)" == "$most" ]] ||
    die "the programs ask for ${prefix}_$found, and bundles may ask for ${prefix}_$most at most; build on Debian 12"
}

put() {
  install -D -m "$1" "$2" "$3"
}

fill() {
  local top=$1 bin=$build/bin file
  put 755 "$bin/sandglass" "$top/bin/sandglass"
  put 755 "$bin/sandglassd" "$top/sbin/sandglassd"
  put 755 "$bin/sandglass-spawner" "$top/libexec/sandglass/sandglass-spawner"
  put 755 "$bin/sandglass-egress-static" "$top/libexec/sandglass/sandglass-egress"
  put 755 "$SANDGLASS_ROOT/deploy/rootless.sh" "$top/libexec/sandglass/sandglass-rootless"
  for file in "$bin"/sandglass-zygote-*.so; do
    put 644 "$file" "$top/libexec/sandglass/$(basename "$file")"
  done
  # By the names that programs ask for.
  local curl library libraries
  # Loaded when it is needed.
  curl="$(ldconfig -p | awk '$1 == "libcurl.so.4" {print $NF; exit}')"
  [[ -n $curl ]] || die "there is no libcurl.so.4; run: sudo deploy/install-deps.sh --run"
  libraries="$curl
$(libraries_of "$bin/sandglass")
$(libraries_of "$bin/sandglassd")
$(libraries_of "$curl")"
  while read -r library; do
    put 644 "$library" "$top/lib/sandglass/$(basename "$library")"
  done < <(sort -u <<<"$libraries")
  strip "$top/bin/sandglass" "$top/sbin/sandglassd" "$top"/libexec/sandglass/sandglass-{spawner,egress} \
    "$top"/lib/sandglass/*

  cp -r "$SANDGLASS_ROOT/policy/data" "$top/policy"
  mkdir -p "$top/share/sandglass"
  mv "$top/policy" "$top/share/sandglass/policy"
  for file in sandglass.1 sandglassd.8; do
    put 644 "$SANDGLASS_ROOT/deploy/man/$file" "$top/share/man/man${file##*.}/$file"
  done
  put 644 "$SANDGLASS_ROOT/deploy/sandglassd.json" "$top/share/doc/sandglass/sandglassd.json"
  cp -r "$SANDGLASS_ROOT/docs" "$top/share/doc/sandglass/docs"
  cp -r "$SANDGLASS_ROOT/deploy/demo" "$top/share/doc/sandglass/demo"
  put 644 "$SANDGLASS_ROOT/deploy/apparmor/sandglass-rootless" "$top/share/sandglass/apparmor/sandglass-rootless"
  for file in bash zsh fish; do
    "$bin/sandglass" completion "$file" >"$top/share/sandglass/completion.$file"
  done
  for file in LICENSE CHANGELOG.md SECURITY.md; do
    put 644 "$SANDGLASS_ROOT/$file" "$top/$file"
  done
  put 644 "$SANDGLASS_ROOT/deploy/bundle/README.md" "$top/README.md"
  ln -s bin/sandglass "$top/sandglass"
}

# Which parts of others are in it.
account() {
  local outdated
  outdated="$(python3 "$SANDGLASS_ROOT/deploy/bundle/notices.py" "$version" "$epoch" "$work/$name")"
  if [[ -n $outdated ]]; then
    say "$outdated"
    [[ $release == no ]] ||
      die 'a release has no outdated libraries; run apt-get upgrade, build again, and then this'
  fi
}

main() {
  while (($# > 0)); do
    case $1 in
      --build) build="$(cd "${2:?--build takes a DIR}" && pwd)"; made=yes; shift ;;
      --release) release=yes ;;
      --help | -h) usage; exit 0 ;;
      -*) usage >&2; exit 2 ;;
      *) out=$1 ;;
    esac
    shift
  done
  out=${out:-$build}
  local tool
  for tool in cmake ldd objdump python3 strip tar zstd; do
    command -v "$tool" >/dev/null ||
      die "there is no $tool; run: sudo deploy/install-deps.sh --build"
  done
  [[ $made == yes ]] || build_preset release "$build" "${PROGRAMS[@]}"
  local version name work epoch
  version="$(sed -nE 's/^project\(sandglass VERSION ([^ ]+).*/\1/p' "$SANDGLASS_ROOT/CMakeLists.txt")"
  name=sandglass-$version-linux-$(uname -m)
  # All files have the time of the last change of the sources.
  epoch=${SOURCE_DATE_EPOCH:-$(git -c safe.directory='*' -C "$SANDGLASS_ROOT" log -1 --format=%ct 2>/dev/null)} ||
    die "this is no clone, so say when the sources were changed: SOURCE_DATE_EPOCH=…"
  work="$(mktemp -d)"
  # shellcheck disable=SC2064 # the path as it is now
  trap "rm -rf '$work'" EXIT
  umask 022
  mkdir "$work/$name"
  fill "$work/$name"
  local programs=("$work/$name"/bin/* "$work/$name"/sbin/* "$work/$name"/lib/sandglass/* "$work/$name"/libexec/sandglass/*.so)
  check_newest GLIBC "$MOST_GLIBC" "${programs[@]}"
  check_newest GLIBCXX "$MOST_GLIBCXX" "${programs[@]}"
  account
  mkdir -p "$out"
  tar --create --directory "$work" --sort=name --mtime="@$epoch" --owner=0 --group=0 \
    --numeric-owner --mode='u+rw,go=rX' --format=gnu "$name" |
    zstd -q -19 --single-thread -o "$work/archive"
  mv "$work/archive" "$out/$name.tar.zst"
  (cd "$out" && sha256sum "$name.tar.zst" >"$name.tar.zst.sha256")
  python3 "$SANDGLASS_ROOT/deploy/bundle/wheel.py" "$work/$name" "$epoch" "$out"
  say "$out/$name.tar.zst: $(($(stat -c %s "$out/$name.tar.zst") / 1024)) KiB, $(cut -c1-16 "$out/$name.tar.zst.sha256")…"
}

main "$@"
