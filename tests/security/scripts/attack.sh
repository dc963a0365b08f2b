# shellcheck shell=bash disable=SC2317
# In bash: redirections, /dev/tcp, and every tool of the image that changes something.
directory=$1 stream=$2 abstract=$3 port=$4 pid=$5
made=0
refused() {
  made=$((made + 1))
  if "$@" >/dev/null 2>&1 </dev/null; then
    echo "$* went through" >&2
    exit 43
  fi
}
put() { echo x >>"$1"; }
get() { local byte; byte=$(head -c 1 "$1" | od -An -c) && [[ -n $byte ]]; }
talk() { exec 9<>"/dev/$1"; }
for path in /etc/passwd /usr/bin/bash /proc/self/mem /proc/sysrq-trigger \
  /proc/sys/kernel/core_pattern /proc/self/oom_score_adj "$directory/file" /new /usr/new; do
  refused put "$path"
done
for path in /etc/shadow /proc/1/environ /proc/kcore /proc/1/root/etc/passwd /dev/mem \
  "$directory/file" /proc/keys /proc/kallsyms; do
  refused get "$path"
done
refused talk "tcp/127.0.0.1/$port"
refused talk tcp/192.0.2.1/80
refused talk tcp/169.254.169.254/80
refused kill -9 "$pid"
refused kill -9 1
refused kill -0 "$pid"
refused unshare -Ur true
refused unshare -n true
refused nsenter -t 1 -m true
refused mount -t tmpfs x /tmp
refused mount --bind / /tmp
refused umount /proc
refused chroot / true
refused pivot_root /tmp /tmp
refused su -c true
refused mknod /tmp/device b 8 0
refused chown root:root /tmp
refused ulimit -n 1048576
refused renice -n -5 $$
refused dmesg
refused swapoff -a
refused ln /usr/bin/su own
refused test -e "$stream"
refused grep -q "${abstract#@}" /proc/net/unix
refused setpriv --reuid 0 true
refused date -s 2000-01-01
refused hostname hostile
[[ $made == 44 ]] || { echo "made $made" >&2; exit 44; }
exit 42
