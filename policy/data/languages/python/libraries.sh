# shellcheck shell=sh
# Installs Python libraries into layer/; the arguments are requirements as pip
# takes them. REGISTRY is the index.
set -e
umask 022
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
  --index-url "$REGISTRY" --target layer -- "$@" || {
  status=$?
  # Of an index that it can't reach pip says that nothing matches.
  /usr/bin/python3 - << 'END'
import os, urllib.error, urllib.request
try:
    urllib.request.urlopen(os.environ["REGISTRY"], timeout=10).close()
except urllib.error.HTTPError as error:
    if error.code in (502, 504):
        words = error.read(400).decode("ascii", "replace").strip()
        print("ERROR: the index can't be reached:", words)
except OSError as error:
    print("ERROR: the index can't be reached:", error)
END
  exit $status
}
# Made now, since programs can't keep what they compile; by content, since times
# don't outlast the copy.
/usr/bin/python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash \
  layer || true
