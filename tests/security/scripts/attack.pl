# In Perl, with syscall: from the interpreter's own process.
use strict;
use Socket;
my ($directory, $stream, $abstract, $port, $pid) = @ARGV;
my $made = 0;

sub refused {
  my ($name, $action) = @_;
  $made++;
  my $result = eval { $action->() };
  return if !$result;
  print STDERR "$name went through: $result\n";
  require POSIX;
  POSIX::_exit(43);
}
my $tmp = "/tmp";
for my $call ([272, 0x10000000], [272, 0x20000], [101, 16, 1, 0, 0], [321, 5, 0, 0],
              [250, 0, -3, 0], [323, 1], [105, 0], [161, $tmp], [425, 8, 0],
              [56, 0x10000011, 0, 0, 0, 0]) {
  refused("system call $call->[0]", sub { syscall($call->[0], @$call[1 .. $#$call]) != -1 });
}
for my $path ("/etc/passwd", $^X, "/proc/self/mem", "/proc/sysrq-trigger",
              "/proc/sys/kernel/core_pattern", "$directory/file") {
  refused("write $path", sub { open(my $file, "+<", $path) or return; syswrite($file, "x") });
}
for my $path ("/etc/shadow", "/proc/1/environ", "/proc/kcore", "/dev/mem", "$directory/file") {
  refused("read $path", sub { open(my $file, "<", $path) or return; sysread($file, my $x, 1) or undef });
}
refused("port", sub {
  socket(my $s, PF_INET, SOCK_STREAM, 0) or return;
  connect($s, sockaddr_in($port, inet_aton("127.0.0.1")));
});
refused("abstract", sub {
  socket(my $s, PF_UNIX, SOCK_STREAM, 0) or return;
  connect($s, pack("S a*", AF_UNIX, "\0" . substr($abstract, 1)));
});
refused("socket", sub {
  socket(my $s, PF_UNIX, SOCK_STREAM, 0) or return;
  connect($s, sockaddr_un($stream));
});
refused("raw", sub { socket(my $s, PF_INET, SOCK_RAW, 1) });
refused("bait", sub { kill(9, $pid) || undef });
refused("init", sub { kill(9, 1) || undef });
refused("root", sub { $> = 0; $> == 0 || undef });
refused("chroot", sub { chroot("/tmp") });
refused("su", sub { system("su -c true </dev/null 2>/dev/null") == 0 || undef });
require POSIX;
POSIX::_exit($made == 30 ? 42 : 44);
