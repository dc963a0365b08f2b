begin
  Process.kill(:INT, $$)
  sleep 5
rescue Interrupt => e
  p e.class, e.message, e.signo
end
Process.kill(:INT, $$)
sleep 5
