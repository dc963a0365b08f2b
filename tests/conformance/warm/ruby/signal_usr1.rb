Process.kill(:USR1, $$)
sleep 5
