t = Thread.new { sleep }
pid = fork do
  p Thread.list.size, t.alive?, Thread.new { 5 }.value, Thread.main == Thread.current
  sleep 0.01
end
Process.wait(pid)
p Thread.list.size
