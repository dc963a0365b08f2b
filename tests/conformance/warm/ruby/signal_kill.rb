at_exit { puts "never" }
print "unflushed"
Process.kill(:KILL, $$)
sleep 5
