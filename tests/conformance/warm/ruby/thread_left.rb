Thread.new { begin; sleep; ensure; puts "ensure of a killed thread"; end }
Thread.pass
sleep 0.05
puts "main ends"
