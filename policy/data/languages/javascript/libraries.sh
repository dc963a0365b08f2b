# shellcheck shell=sh
# Installs packages into layer/node_modules; the arguments are names with
# versions as npm takes them. REGISTRY is the registry. With a lock lock/ has a
# package.json for these arguments and a package-lock.json.
set -e
umask 022
cd layer
if [ -d ../lock ]; then
  cp ../lock/package.json ../lock/package-lock.json .
  set -- ci
else
  printf '{"private": true}\n' > package.json
  set -- install -- "$@"
fi
command=$1
shift
npm "$command" --registry "$REGISTRY" --cache /tmp/npm --no-audit --no-fund \
  --no-update-notifier --omit dev --loglevel http "$@" 2>&1
