# shellcheck shell=sh
# Installs packages into layer/node_modules; the arguments are names with
# versions as npm takes them. REGISTRY is the registry.
set -e
umask 022
cd layer
printf '{"private": true}\n' > package.json
npm install --registry "$REGISTRY" --cache /tmp/npm --no-audit --no-fund \
  --no-update-notifier --omit dev --loglevel http -- "$@" 2>&1
