count = 0
$stdin.each_line(chomp: true) do |line|
  puts line.length
  count += 1
end
puts "lines: #{count}"
