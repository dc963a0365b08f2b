p $stdin.read, $stdin.gets, STDIN.fileno, STDIN.tty?, $stdin.sync, STDIN.closed?
p STDIN.external_encoding, STDIN.internal_encoding, $stdin.inspect, STDIN.stat.ftype
