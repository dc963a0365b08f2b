require "socket"
a, b = UNIXSocket.pair
a.puts "over"
p b.gets
server = TCPServer.new("127.0.0.1", 0)
t = Thread.new { c = server.accept; c.puts "hi"; c.close }
p TCPSocket.new("127.0.0.1", server.addr[1]).read
t.join
p Socket.gethostname
