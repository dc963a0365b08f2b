# shellcheck shell=sh
# Installs Python libraries into layer/; the arguments are requirements as pip
# takes them. REGISTRY is the index.
set -e
umask 022
# pip installs there and moves it into layer/: beside it that is a rename, from
# /tmp a copy of all files, and they would have to fit into both.
mkdir -p temporary
export TMPDIR="$PWD/temporary"
# Without TLS pip wants to hear that this is meant.
case "$REGISTRY" in
  http://*)
    host=${REGISTRY#http://}
    export PIP_TRUSTED_HOST="${host%%/*}"
    ;;
esac
/usr/bin/python3 -m pip install --no-input --no-cache-dir \
  --disable-pip-version-check --no-warn-script-location --progress-bar off \
  --root-user-action ignore --no-compile --prefer-binary \
  --index-url "$REGISTRY" --target layer -- "$@"
# Made now, since programs can't keep what they compile; by content, since times
# don't outlast the copy.
/usr/bin/python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash \
  layer || true
