t = Thread.new { begin; sleep; ensure; puts "ensure of a killed thread"; end }
Thread.pass until t.stop?
puts "main ends"
