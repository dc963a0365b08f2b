$stdout.sync = false
200_000.times { |n| puts "line #{n}" }
