r = Ractor.new(5) { |n| n * Ractor.receive }
r.send(4)
p r.take, Ractor.current.inspect[/#1/]
p 3.times.map { |i| Ractor.new(i) { |n| n * n } }.map(&:take)
