Thread.abort_on_exception = true
Thread.new { raise "stops all" }
sleep 5
puts "never"
