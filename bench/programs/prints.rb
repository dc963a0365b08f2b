puts "run 0"
20000.times { |i| puts i }
