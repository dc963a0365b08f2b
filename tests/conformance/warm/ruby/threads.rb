p Thread.list.size, Thread.main == Thread.current, Thread.current.name, Thread.current.inspect[/run/]
p Thread.main.native_thread_id == $$, Thread.current.priority, Thread.current.group == ThreadGroup::Default
m = Mutex.new
n = 0
4.times.map { Thread.new { 100.times { m.synchronize { n += 1 } } } }.each(&:join)
p n, m.locked?
q = Queue.new
t = Thread.new { 3.times.map { q.pop } }
3.times { |i| q << i }
p t.value, q.empty?, q.num_waiting
c = ConditionVariable.new
ready = false
t = Thread.new { m.synchronize { c.wait(m) until ready; :woken } }
m.synchronize { ready = true; c.signal }
p t.value
p Thread.new { Thread.current[:a] = 1; Thread.current.keys }.value
s = SizedQueue.new(1)
t = Thread.new { 3.times { s << 1 } }
3.times { s.pop }
t.join
p Thread.new { Thread.pass; sleep 0.01; :slept }.value
begin
  Mutex.new.tap(&:lock).lock
rescue ThreadError => e
  puts e.message
end
