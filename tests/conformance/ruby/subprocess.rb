output = `/bin/echo child $((6*7))`
puts "got: #{output}"
