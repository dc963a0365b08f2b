$0 = "a new name"
p $0, $PROGRAM_NAME, __FILE__
puts `ps -o args= -p #{$$}`
puts File.read("/proc/self/cmdline").delete("\0")
$0 = "x" * 60
puts File.read("/proc/self/cmdline").delete("\0")
Process.setproctitle("title")
p $0, File.read("/proc/self/cmdline").delete("\0"), File.read("/proc/self/comm")
