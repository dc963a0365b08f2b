at_exit { Thread.new { puts "in a thread" }.join; $stdout.flush }
at_exit { puts Thread.list.size }
Thread.new { sleep }
puts "end"
