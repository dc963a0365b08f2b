at_exit { sleep 600 }

puts "leaving"
$stdout.flush
exit 4
