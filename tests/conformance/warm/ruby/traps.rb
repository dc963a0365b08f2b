p %w[INT TERM HUP USR1 CHLD PIPE EXIT ALRM QUIT WINCH].map { |s| trap(s, "DEFAULT") }
got = []
trap("USR1") { got << :usr1 }
old = trap("TERM") { |number| got << number }
p old
Process.kill("USR1", $$)
Process.kill("TERM", $$)
sleep 0.01 until got.size == 2
p got.sort_by(&:to_s)
trap("EXIT") { puts "trap EXIT" }
at_exit { puts "at_exit" }
begin
  trap("KILL") {}
rescue ArgumentError => e
  puts e.message
end
p Signal.list.size, Signal.signame(15)
