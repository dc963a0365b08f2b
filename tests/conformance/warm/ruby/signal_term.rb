at_exit { puts "at exit" }
Process.kill(:TERM, $$)
sleep 5
