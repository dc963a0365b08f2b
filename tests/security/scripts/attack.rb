# In Ruby, with Kernel#syscall: from the interpreter's own process.
require "socket"

directory, stream, abstract, port, pid = ARGV
$made = 0

def refused(name)
  $made += 1
  result = yield
  return if result.nil? || result == false || result == -1
  warn "#{name} went through: #{result.inspect}"
  exit! 43
rescue SystemCallError, SocketError
  nil
end

calls = [[272, 0x10000000], [272, 0x20000], [101, 16, 1, 0, 0], [101, 0, 0, 0, 0],
         [321, 5, 0, 0], [250, 0, 0, 0], [323, 1], [161, "/tmp"], [105, 0], [106, 0],
         [56, 0x10000011, 0, 0, 0, 0], [425, 8, 0], [165, "x", "/tmp", "tmpfs", 0, 0]]
$VERBOSE = nil
calls.each { |number, *rest| refused("system call #{number}") { syscall(number, *rest) } }
["/etc/passwd", "/usr/bin/ruby", "/proc/self/mem", "/proc/self/exe", "/proc/sysrq-trigger",
 "/proc/sys/kernel/core_pattern", "#{directory}/file"].each do |path|
  refused("write #{path}") { File.open(path, File::WRONLY) { |file| file.syswrite("x") } }
end
["/etc/shadow", "/proc/1/environ", "/proc/kcore", "/proc/1/root/etc/passwd", "/dev/mem",
 "#{directory}/file", "/proc/keys"].each do |path|
  refused("read #{path}") { File.open(path) { |file| file.read(1) } }
end
refused("abstract") { UNIXSocket.new("\0#{abstract[1..]}") }
refused("socket") { UNIXSocket.new(stream) }
refused("port") { TCPSocket.new("127.0.0.1", port.to_i) }
refused("outside") { TCPSocket.new("192.0.2.1", 80) }
refused("metadata") { TCPSocket.new("169.254.169.254", 80) }
refused("raw") { Socket.new(17, Socket::SOCK_RAW, 0) }
refused("bait") { Process.kill(:KILL, pid.to_i) }
refused("init") { Process.kill(:KILL, 1) }
refused("setuid") { Process::Sys.setuid(0) }
refused("priority") { Process.setpriority(Process::PRIO_PROCESS, 0, -5) }
refused("limit") { Process.setrlimit(:NOFILE, 1 << 20, 1 << 20) }
refused("terminal") { $stdin.ioctl(0x5412, "x") }
refused("chroot") { Dir.chroot("/tmp") }
["unshare -Ur true", "mount -t tmpfs x /tmp", "su -c true"].each do |command|
  refused(command) { system(command, in: "/dev/null", err: "/dev/null") }
end
exit!($made == 43 ? 42 : 44)
