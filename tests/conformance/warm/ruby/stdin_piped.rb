p STDIN.tty?, STDIN.inspect, STDIN.external_encoding, STDIN.autoclose?
p STDIN.read_nonblock(4), STDIN.readpartial(100), STDIN.read, STDIN.read(1)
begin
  STDIN.sysread(1)
rescue EOFError => e
  puts e.message
end
