#!/bin/bash
# Makes an image for Sandglass: a Debian root directory that jails see in place
# of the host's /usr (docs/images.md).
#
#   sudo deploy/images/build.sh [FLAGS] DIRECTORY
#   deploy/images/build.sh --verify DIRECTORY
#
#   --languages ID,…   of these languages only; all by default
#   --libraries        also what installs the languages' libraries for programs
#   --science          also Python's libraries for tables, charts and models
#   --with PACKAGE,…   also these Debian packages
#   --suite NAME       Debian's release; bookworm by default
#   --sources FILE     where packages come from, a file as apt has them; may be
#                      given several times. By default this machine's own,
#                      /etc/apt/sources.list and sources.list.d/debian.sources
#   --verify           reads all files of an image and says what isn't as it was
#                      built
#
# Nothing is at DIRECTORY until all of it is. SOURCE_DATE_EPOCH, when set, is
# taken for the time of the build and for that of all later files.
set -euo pipefail
source "$(dirname "$0")/../common.sh"

MANIFEST="$(dirname "$0")/manifest.py"
LOGS=/var/log/sandglass
# In every image: what every command expects, and whom to trust.
BASE_PACKAGES=(bash ca-certificates tzdata)

usage() { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; }

wrong_usage() {
  say "${0##*/}: $*" >&2
  usage >&2
  exit 2
}

languages=()
suite=bookworm
sources=()
packages=()
verify=''
science=''
libraries=''
directory=''
work=''

read_arguments() {
  local values
  while (($#)); do
    case $1 in
      --languages | --with | --suite | --sources)
        [[ -n ${2:-} ]] || wrong_usage "$1 needs a value"
        case $1 in
          --languages) IFS=, read -ra values <<<"$2"; languages+=("${values[@]}") ;;
          --with) IFS=, read -ra values <<<"$2"; packages+=("${values[@]}") ;;
          --suite) suite=$2 ;;
          --sources) sources+=("$2") ;;
        esac
        shift
        ;;
      --science) science=yes ;;
      --libraries) libraries=yes ;;
      --verify) verify=yes ;;
      --help | -h) usage; exit 0 ;;
      -*) wrong_usage "there is no flag $1" ;;
      *)
        [[ -z $directory ]] || wrong_usage "one directory only, not also $1"
        directory=$1
        ;;
    esac
    shift
  done
  [[ -n $directory ]] || wrong_usage 'which directory?'
  [[ $suite =~ ^[a-z][a-z0-9.-]*$ ]] || wrong_usage "'$suite' is no release's name"
}

# Debian's own, not those of other vendors: their packages are not what the
# languages' files name.
find_sources() {
  local file
  if ((${#sources[@]} == 0)); then
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
      if [[ -s $file ]]; then sources+=("$file"); fi
    done
  fi
  ((${#sources[@]})) ||
    die "there is neither /etc/apt/sources.list nor sources.list.d/debian.sources; name a file with --sources"
  for file in "${sources[@]}"; do
    [[ -r $file ]] || die "can't read $file"
  done
  grep -qw -e "$suite" -- "${sources[@]}" ||
    die "${sources[*]} names no $suite; name a file that does with --sources"
}

# How this machine reaches its packages.
apt_options() {
  say 'APT::Install-Recommends "false";'
  apt-config dump |
    grep -E '^Acquire::([a-zA-Z]+::)?(Proxy|Check-Valid-Until|Check-Date|Retries|Timeout|ForceIPv[46])[: ]' || true
}

# In namespaces of its own: whatever ends this leaves no process and no mount.
make_root() {
  local include
  include="$(IFS=,; say "${packages[*]}")"
  unshare --mount --pid --fork --kill-child --mount-proc -- \
    env TMPDIR="$work" mmdebstrap --mode=root --variant=essential --format=directory \
    --aptopt="$work/apt.conf" \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-include=/usr/share/man/man[1-9]' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/lintian/*' \
    --include="$include" "$suite" "$work/root" "${sources[@]}"
}

# Jails see /usr and /etc; of the rest only the list of packages stays,
# for those who look for known holes. What differs from one build to the next,
# or tells of this machine, goes.
clean_root() {
  local root=$1 name
  mkdir -p "$work/kept"
  mv "$root/var/lib/dpkg/status" "$work/kept/status"
  for name in boot dev home media mnt opt proc root run srv sys tmp var; do
    rm -rf --one-file-system "${root:?}/$name"
    mkdir -m 0755 "$root/$name"
  done
  mkdir -p "$root/var/lib/dpkg"
  mv "$work/kept/status" "$root/var/lib/dpkg/status"
  (
    cd "$root/etc"
    rm -rf apt hostname resolv.conf machine-id ./*- shadow gshadow \
      ssh/ssh_host_* ssl/private dpkg/dpkg.cfg.d/99mmdebstrap
  )
  find "$root" -xdev \( -type b -o -type c -o -type p -o -type s \) -delete
  chown -hR 0:0 "$root"
  find "$root" -xdev ! -type l -perm /7022 -exec chmod u-s,g-s,o-t,go-w {} +
  if [[ -n $given_time ]]; then
    find "$root" -xdev -newermt "@$SOURCE_DATE_EPOCH" \
      -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  fi
}

remove_work() {
  [[ -n $work ]] || return 0
  # What was killed may still have been writing.
  rm -rf --one-file-system "$work" 2>/dev/null ||
    { sleep 1; rm -rf --one-file-system "$work"; }
}

build() {
  local parent name used wanted
  need_root
  command -v mmdebstrap >/dev/null ||
    die "mmdebstrap is not installed; run: sudo apt-get install --no-install-recommends mmdebstrap"
  parent="$(realpath -e -- "$(dirname -- "$directory")")" ||
    die "there is no directory $(dirname -- "$directory"); make it first: sudo mkdir -p $(dirname -- "$directory")"
  name="$(basename -- "$directory")"
  directory="${parent%/}/$name"
  # A daemon may have it open; under its jails it must not change.
  if [[ -e $directory || -L $directory ]]; then
    die "$directory is there already; build beside it, and put the new name into the configuration"
  fi
  wanted="$(language_packages "${languages[@]}")"
  mapfile -t -O "${#packages[@]}" packages <<<"$wanted"
  if [[ -n $libraries ]]; then
    wanted="$(library_packages "${languages[@]}")"
    mapfile -t -O "${#packages[@]}" packages <<<"$wanted"
  fi
  packages+=("${BASE_PACKAGES[@]}")
  [[ -z $science ]] || packages+=(python3 "${SCIENCE_PACKAGES[@]}")
  mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
  ((${#languages[@]})) || read -ra languages <<<"$(language_ids)"
  find_sources

  given_time="${SOURCE_DATE_EPOCH:-}"
  SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(date +%s)}"
  export SOURCE_DATE_EPOCH
  umask 022
  trap remove_work EXIT
  work="$(mktemp -d "${parent%/}/.$name.XXXXXX")"
  apt_options >"$work/apt.conf"
  run_step "Installing ${#packages[@]} packages and what they need" \
    "$LOGS/image-$name.log" make_root ||
    die "the image could not be made; nothing was left at $directory"
  run_step 'Removing what no jail may have' "$LOGS/image-$name-clean.log" \
    clean_root "$work/root"
  run_step 'Reading all files' "$LOGS/image-$name-digest.log" \
    python3 "$MANIFEST" write "$work/root" --suite "$suite" --languages "${languages[*]}"
  chmod 0755 "$work/root"
  mv -nT "$work/root" "$directory"
  [[ ! -e $work/root ]] ||
    die "meanwhile somebody else made $directory; this one was removed"

  used="$(du -sh --apparent-size "$directory" | cut -f1)"
  say "$directory: $used, digest $(python3 "$MANIFEST" digest "$directory")"
  [[ $name =~ ^[a-z][a-z0-9-]*$ ]] || name=NAME
  say "To use it, put  \"images\": {\"$name\": \"$directory\"}  into sandglassd.json,"
  say "\"image\": \"$name\"  into a profile, and start the daemon again."
}

read_arguments "$@"
if [[ -n $verify ]]; then
  python3 "$MANIFEST" verify "$directory"
else
  build
fi
