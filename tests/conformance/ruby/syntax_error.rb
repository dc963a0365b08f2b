puts "never printed"
puts "nor is this"
total = = 3
puts total
