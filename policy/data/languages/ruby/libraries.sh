# shellcheck shell=sh
# Installs gems into layer/; the arguments are names with requirements as gem
# takes them. REGISTRY is the source.
set -e
umask 022
gem install --install-dir layer --bindir layer/bin --no-document --norc \
  --clear-sources --source "$REGISTRY" "$@"
rm -rf layer/cache
