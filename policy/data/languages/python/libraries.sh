# shellcheck shell=sh
# Installs Python libraries into layer/; the arguments are requirements as pip
# takes them. REGISTRY is the index. With a lock its files are in lock/.
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
if [ -d lock ]; then
  # All that the lock has is fetched and its hashes are looked at; what is asked
  # for is then installed of that alone. What a source archive wants for its
  # build isn't in a lock: it gets what the image has.
  /usr/bin/python3 -m pip download --no-input --no-cache-dir \
    --disable-pip-version-check --progress-bar off --prefer-binary \
    --no-build-isolation --no-deps --require-hashes --index-url "$REGISTRY" \
    --dest archives -r lock/hashes.txt
  mkdir -p archives
  # What the profile says of versions holds too.
  printf '%s\n' "$@" | sed 's/\[.*\]//' > asked.txt
  if [ -f lock/all.txt ]; then set -- -r lock/all.txt; else set -- -- "$@"; fi
  set -- --no-build-isolation --no-index --find-links archives \
    -c lock/versions.txt -c asked.txt "$@"
else
  set -- --prefer-binary --index-url "$REGISTRY" -- "$@"
fi
/usr/bin/python3 -m pip install --no-input --no-cache-dir \
  --disable-pip-version-check --no-warn-script-location --progress-bar off \
  --root-user-action ignore --no-compile --target layer "$@" || {
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
