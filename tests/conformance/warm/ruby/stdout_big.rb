5000.times { |i| puts "line #{i} " + "x" * 50 }
$stdout.write("y" * 70_000, "\n")
