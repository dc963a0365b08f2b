p $stdout.sync, $stderr.sync, $stdout.tty?, $stdout.fileno, $stdout.external_encoding, $stdout.inspect
p STDOUT.equal?($stdout), $>.equal?($stdout), $stderr.inspect, $stdout.lineno rescue p $!.message
p $,, $/, $\, $;, $stdout.fsync rescue p $!.class
$stdout << "chained " << 1 << "\n"
$stdout.print("a", "b\n")
$stdout.syswrite("unbuffered?\n")
puts [1, [nil, 2]], nil, []
p
p 1, 2
pp({ a: 1 })
putc "x"
putc 10
display
puts
