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
      verb=start
      [ -z "$2" ] || verb=restart
      # The installation goes on: the service may need what comes after it.
      if ! deb-systemd-invoke "$verb" "$unit" >/dev/null; then
        cat >&2 <<TEXT
sandglass: the service could not $verb, so no daemon runs. Why, says:
  journalctl -u sandglassd -n 20
What this machine lacks, says:
  sandglassd --check --config /etc/sandglass/sandglassd.json
Then start it with: systemctl start sandglassd
TEXT
      fi
    elif [ -z "$DPKG_ROOT" ]; then
      echo "sandglass: systemd does not run here, so no service was started; start the daemon with: sandglassd" >&2
    fi
    ;;
esac
