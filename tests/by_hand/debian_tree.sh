# shellcheck shell=bash
# Makes trees of Debian 12 with this machine's own way to its packages. Source it
# after deploy/common.sh; it changes nothing by itself.

# This machine's Debian sources, one "deb" line each.
debian_sources() {
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets \
    --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' | sort -u
}

# This machine's way to reach them: proxies, certificates, retries, clocks.
apt_options() {
  apt-config dump | grep -E '^Acquire::(https?::|Retries|Check-)' || true
}

# debian_tree DIRECTORY OPTION…: a minimal Debian 12, with mmdebstrap's options.
debian_tree() {
  local tree=$1 sources=$1.list options=$1.apt.conf code=0
  shift
  debian_sources >"$sources"
  [[ -s $sources ]] || die "apt knows no Debian source here; run 'apt-get update' first"
  apt_options >"$options"
  mmdebstrap --variant=minbase --aptopt="$options" "$@" bookworm "$tree" "$sources" || code=$?
  rm -f "$sources" "$options"
  return "$code"
}
