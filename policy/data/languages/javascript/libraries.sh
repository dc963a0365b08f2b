# shellcheck shell=sh
# Installs packages into layer/node_modules; the arguments are names with
# versions as npm takes them. REGISTRY is the registry. With a lock lock/ has a
# package.json for these arguments and a package-lock.json.
set -e
umask 022
cd layer
# `npm ci` takes no names.
if [ -d ../lock ]; then set --; fi
set -- --registry "$REGISTRY" --cache /tmp/npm --no-audit --no-fund \
  --no-update-notifier --omit dev --loglevel http -- "$@"
if [ -d ../lock ]; then
  cp ../lock/package.json ../lock/package-lock.json .
  # Its usage, which comes after what is wrong, says nothing here.
  {
    npm ci "$@" 2>&1 || touch /tmp/failed
  } | sed -u '/^npm [^ ]* Clean install a project$/,/npm help ci/d'
  [ ! -e /tmp/failed ]
else
  printf '{"private": true}\n' > package.json
  npm install "$@" 2>&1
fi
