p GC.enable, GC.disable, GC.enable, GC.stress, GC.start, GC.measure_total_time
10.times { Array.new(10_000) { "x" * 30 } }
GC.start
GC.compact if GC.respond_to?(:compact)
p GC.stat.keys.size, GC.count.class
