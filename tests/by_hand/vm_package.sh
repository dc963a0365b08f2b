# shellcheck shell=bash
# The package in tests/by_hand/vm.sh's machine: installed, set up, upgraded, purged.
# tests/by_hand/vm_inside.sh sources it and has what it calls.

# Where tests/by_hand/vm.sh put the packages.
PACKAGES=(/srv/packages/*.deb)

# Whatever of the service is on the machine, as lines: files, units, groups,
# mounts, processes.
traces_of_the_service() {
  find / /run -xdev \( -path "$PWD" -o -path /proc -o -path "/srv/packages" -o -path /home \
    -o -path "$STAGE" -o -path '/var/log/journal*' -o -path '/var/log/*.log' \) -prune \
    -o \( -iname '*sandglass*' -o -user sandglass -o -uid +1879048191 \) -print 2>/dev/null || true
  systemctl list-units --all --plain --no-legend '*sandglass*'
  find /sys/fs/cgroup -type d -name '*sandglass*'
  grep -h sandglass /proc/[0-9]*/mounts 2>/dev/null | sort -u || true
  find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname '*sandglass*' 2>/dev/null || true
  ps_uids | awk '$2 >= 1879048192' || true
}

# The number and the user of every process.
ps_uids() { stat -c '%n %u' /proc/[0-9]* 2>/dev/null || true; }

# The package brings account and unit, and starts it.
install_package() {
  local start=$SECONDS
  [[ -z $(traces_of_the_service) ]]
  dpkg -i "${PACKAGES[0]}"
  systemctl is-active sandglassd.service
  systemctl is-enabled sandglassd.service
  echo "active after $((SECONDS - start)) s"
  id sandglass
  dpkg --verify sandglass
}

# The machine was booted again: the service is there by itself, with what it had
# prepared.
after_the_boot() {
  systemctl is-active sandglassd.service
  for _ in {1..300}; do
    sandglass run -l java "$PROGRAMS/java/hello.java" >/dev/null 2>&1 && break
    sleep 1
  done
  if log_of_service | grep -E ' (error|language_not_prepared) '; then return 1; fi
  log_of_service | grep ' listening on'
}

# Own settings of an operator: a policy of their own, with two languages, and a
# short drain.
OWN=/etc/sandglass/policy
configure() {
  local file
  cp -r /usr/share/sandglass/policy "$OWN"
  for file in "$OWN"/languages/*.json; do
    [[ $file == */bash.json || $file == */python.json ]] || rm "$file"
  done
  sed -i 's|^  // "policy_dir": .*|  "policy_dir": "/etc/sandglass/policy",|; s|"drain_timeout": "30s"|"drain_timeout": "15s"|' \
    /etc/sandglass/sandglassd.json
  sandglassd --check --config /etc/sandglass/sandglassd.json >/dev/null
  systemctl restart sandglassd.service
  sandglass run -l bash -c 'echo works' | grep -x works
}

# Another description of a profile is in force after a reload, in the same
# process; a profile that is none changes nothing.
reload() {
  local main profile=$OWN/profiles/large.json
  main="$(systemctl show -P MainPID sandglassd.service)"
  cp "$profile" /tmp/large.json
  sed -i 's/"description": "[^"]*"/"description": "As changed"/' "$profile"
  systemctl reload sandglassd.service
  sandglass info | grep 'As changed'
  echo '{' >"$profile"
  if systemctl reload sandglassd.service; then return 1; fi
  log_says ' policy_not_reloaded '
  sandglass info | grep 'As changed'
  systemctl is-active sandglassd.service
  [[ $(systemctl show -P MainPID sandglassd.service) == "$main" ]]
  mv /tmp/large.json "$profile"
  systemctl reload sandglassd.service
}

# A stop waits for a run that ends in time, and not for one that doesn't.
drain() {
  local start quick slow code=0
  sandglass run -l bash -c 'echo started; sleep 5; echo to the end' >/tmp/quick 2>&1 &
  quick=$!
  sandglass run --profile large -l bash -c 'echo started; sleep 86400' --timeout 55s >/tmp/slow 2>&1 &
  slow=$!
  until grep -q started /tmp/quick && grep -q started /tmp/slow; do sleep 0.1; done
  start=$(uptime_seconds)
  systemctl stop sandglassd.service
  echo "stopped after $(($(uptime_seconds) - start)) s"
  (($(uptime_seconds) - start < 35))
  wait "$quick"
  grep -x 'to the end' /tmp/quick
  wait "$slow" || code=$?
  echo "the other one: $code, $(tail -n 1 /tmp/slow)"
  ((code == 143))
  [[ $(systemctl show -P Result sandglassd.service) == success ]]
  systemctl start sandglassd.service
}

# A daemon that hangs is ended and started again, and so is what it made.
watchdog() {
  local main start drop_in=/etc/systemd/system/sandglassd.service.d
  mkdir -p "$drop_in"
  printf '[Service]\nWatchdogSec=30\n' >"$drop_in/watchdog.conf"
  systemctl daemon-reload
  systemctl restart sandglassd.service
  main="$(systemctl show -P MainPID sandglassd.service)"
  # Longer than the time: while it works nothing happens.
  sleep 45
  [[ $(systemctl show -P MainPID sandglassd.service) == "$main" ]]
  start=$(uptime_seconds)
  kill -STOP "$(tr -d ' ' <"/proc/$main/task/$main/children")"
  until log_says 'Watchdog timeout'; do
    (($(uptime_seconds) - start < 120))
    sleep 1
  done
  echo "ended after $(($(uptime_seconds) - start)) s"
  for _ in {1..120}; do
    sandglass run -l bash -c 'echo again' 2>/dev/null | grep -x again && break
    sleep 1
  done
  systemctl is-active sandglassd.service
  [[ $(systemctl show -P MainPID sandglassd.service) != "$main" ]]
  rm -r "$drop_in"
  systemctl daemon-reload
  systemctl restart sandglassd.service
}

# A newer package takes over, with what was configured.
upgrade() {
  local before main
  before="$(sha256sum /etc/sandglass/sandglassd.json)"
  main="$(systemctl show -P MainPID sandglassd.service)"
  dpkg -i "${PACKAGES[1]}"
  dpkg-query -W sandglass
  [[ $(sha256sum /etc/sandglass/sandglassd.json) == "$before" ]]
  systemctl is-active sandglassd.service
  [[ $(systemctl show -P MainPID sandglassd.service) != "$main" ]]
  sandglassd --check --config /etc/sandglass/sandglassd.json | grep -E '"(policy_dir|drain_timeout)": "(/etc/sandglass/policy|15s)"'
  sandglass run -l bash -c 'echo upgraded' | grep -x upgraded
}

# With a run and a session going on, nothing is left but the account.
purge() {
  sandglass session create python >/dev/null
  sandglass run -l bash -c 'echo started; sleep 86400' >/tmp/last 2>&1 &
  until grep -q started /tmp/last; do sleep 0.1; done
  dpkg --purge sandglass
  wait || true
  local left
  left="$(traces_of_the_service)"
  [[ -z $left ]] || {
    echo "left behind: $left"
    return 1
  }
  getent passwd sandglass
}

# With the first of the tests before it, so that what can't be had here is left
# out of both.
checks_after_the_boot() {
  part 'After a boot' after_the_boot
  part 'Hello in every language' hello_in_every_language
  part 'Limits of the service' limits_of_the_service
  part 'A jail of the service' jail_of_the_service
  part 'Stop' stop
  use_prepared
  part "Tests $1" tests "$1"
  umount build/test-cache
  part 'Own settings' configure
  part 'Reload' reload
  part 'Stop with a deadline' drain
  part 'Watchdog' watchdog
  part 'Upgrade' upgrade
  part 'Purge' purge
}
