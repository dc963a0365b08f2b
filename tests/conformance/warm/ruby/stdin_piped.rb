p STDIN.tty?, STDIN.inspect, STDIN.external_encoding, STDIN.autoclose?
p STDIN.read(4), STDIN.gets, STDIN.read, STDIN.read(1)
begin
  STDIN.sysread(1)
rescue EOFError => e
  puts e.message
end
