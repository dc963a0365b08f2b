#!/bin/sh
# Stops the service before its programs go; an upgrade leaves it running until
# the new ones are there.
set -e

if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop sandglassd.service >/dev/null || true
fi
