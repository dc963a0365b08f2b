Thread.new { exit 6 }.join
puts "never"
