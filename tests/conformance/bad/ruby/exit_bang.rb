at_exit { puts "never printed" }

$stdout.write("written\n")
$stdout.flush
print "perhaps lost in the buffer"
exit!(5)
