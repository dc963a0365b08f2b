p gets, $_, $., STDIN.lineno, $stdin.read(3), ARGF.class
p $stdin.each_line.to_a, gets, STDIN.eof?
