f = Fiber.new { |x| y = Fiber.yield(x + 1); y * 2 }
p f.resume(1), f.resume(5), f.alive?
begin
  f.resume
  f.resume
rescue FiberError => e
  puts e.message
end
e = Enumerator.new { |y| a, b = 0, 1; loop { y << a; a, b = b, a + b } }
p e.take(10), e.lazy.select(&:even?).first(3), e.next, e.next, e.peek
g = [1, 2].each
p g.next, g.next
begin
  g.next
rescue StopIteration => e
  puts e.message
end
