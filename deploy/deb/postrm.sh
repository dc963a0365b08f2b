#!/bin/sh
# A purge leaves nothing but the account, whose number must not become another's
# while files of its are in backups or on other disks.
set -e

if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload >/dev/null || true
fi

if [ "$1" = purge ]; then
  if [ -x "$(command -v deb-systemd-helper)" ]; then
    deb-systemd-helper purge sandglassd.service >/dev/null || true
    deb-systemd-helper unmask sandglassd.service >/dev/null || true
  fi
  for directory in etc run var/cache var/lib var/log; do
    # A directory that an administrator has mounted there stays.
    rm -rf --one-file-system --preserve-root=all \
      "$DPKG_ROOT/$directory/sandglass" || true
  done
fi
