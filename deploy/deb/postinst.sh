#!/bin/sh
# Makes the account and directories, and starts the service, or on an upgrade
# starts it again, unless an administrator has disabled it.
set -e

unit=sandglassd.service

case "$1" in
  configure | abort-upgrade | abort-deconfigure | abort-remove)
    systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} sandglass.conf
    systemd-tmpfiles ${DPKG_ROOT:+--root="$DPKG_ROOT"} --create sandglass.conf

    deb-systemd-helper unmask "$unit" >/dev/null || true
    if deb-systemd-helper --quiet was-enabled "$unit"; then
      deb-systemd-helper enable "$unit" >/dev/null || true
    else
      deb-systemd-helper update-state "$unit" >/dev/null || true
    fi
    if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
      systemctl --system daemon-reload >/dev/null || true
      if [ -n "$2" ]; then
        deb-systemd-invoke restart "$unit" >/dev/null || true
      else
        deb-systemd-invoke start "$unit" >/dev/null || true
      fi
    fi
    ;;
esac
