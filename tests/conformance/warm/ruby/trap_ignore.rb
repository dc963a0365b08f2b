trap("INT", "IGNORE")
Process.kill("INT", $$)
p trap("INT") { puts "handled" }
Process.kill("INT", $$)
sleep 0.05
trap("INT", "SYSTEM_DEFAULT")
Process.kill("INT", $$)
sleep 5
