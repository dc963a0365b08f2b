# shellcheck shell=bash
# Makes trees of Debian with this machine's own way to its packages. Source it
# after deploy/common.sh; it changes nothing by itself.

# Which release.
suite=bookworm

# This machine's Debian sources, one "deb" line each, for the release that is
# wanted.
debian_sources() {
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets \
    --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' | sort -u | sed "s/ bookworm\\b/ $suite/"
}

# This machine's way to reach them: proxies, certificates, retries, clocks.
apt_options() {
  apt-config dump | grep -E '^Acquire::(https?::|Retries|Check-)' || true
}

# debian_tree DIRECTORY OPTION…: a minimal Debian, with mmdebstrap's options.
debian_tree() {
  local tree=$1 sources=$1.list options=$1.apt.conf code=0
  shift
  debian_sources >"$sources"
  [[ -s $sources ]] || die "apt knows no Debian source here; run 'apt-get update' first"
  apt_options >"$options"
  mmdebstrap --variant=minbase --aptopt="$options" "$@" "$suite" "$tree" "$sources" || code=$?
  rm -f "$sources" "$options"
  return "$code"
}

# Has the kernel run arm64's programs until its next boot, so that trees of arm64 can be
# set up by their packages' own scripts.
run_arm64_programs() {
  local formats=/proc/sys/fs/binfmt_misc tool
  for tool in arch-test qemu-aarch64-static; do
    command -v "$tool" >/dev/null ||
      die "there is no $tool; run: sudo apt-get install arch-test qemu-user-static"
  done
  [[ -e $formats/register ]] || mount -t binfmt_misc binfmt_misc "$formats"
  [[ -e $formats/qemu-aarch64 ]] ||
    /usr/lib/systemd/systemd-binfmt /usr/lib/binfmt.d/qemu-aarch64.conf
}
