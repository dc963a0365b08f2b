t = Thread.new { raise "in a thread" }
begin
  t.join
rescue => e
  p e.message, t.status
end
t = Thread.new { Thread.current.report_on_exception = false; raise "silent" }
Thread.pass while t.alive?
p t.status
