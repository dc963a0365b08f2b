r, w = IO.pipe
r.close
begin
  w.write("x")
rescue Errno::EPIPE => e
  puts e.message
end
$stdout.sync = true
r, w = IO.pipe
$stdout.reopen(w)
w.close
r.close
puts "nobody reads"
