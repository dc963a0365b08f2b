# Two that never sleep have to take turns.
stop = false
counts = [0, 0]
ts = counts.each_index.map { |i| Thread.new { counts[i] += 1 until stop } }
500.times { counts.all?(&:positive?) ? break : sleep(0.01) }
stop = true
ts.each(&:join)
p counts.all?(&:positive?)
