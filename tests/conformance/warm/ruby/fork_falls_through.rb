pid = fork
Process.wait(pid) if pid
puts pid ? "parent" : "child"
at_exit { puts "bye of #{pid ? :parent : :child}" }
exit(pid ? 2 : 1)
