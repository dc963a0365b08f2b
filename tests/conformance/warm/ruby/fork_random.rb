p rand.class
r, w = IO.pipe
2.times { fork { w.puts rand } }
Process.waitall
w.close
p r.readlines.uniq.size, srand.class
