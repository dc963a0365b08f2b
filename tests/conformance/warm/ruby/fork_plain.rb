$stdout.sync = true
at_exit { puts "at_exit in #{$$ == Process.getpgrp ? :first : :forked}" }
pid = fork { puts "child"; exit 3 }
Process.wait(pid)
p $?.exitstatus, $?.success?, $?.class
pid = fork
if pid.nil?
  puts "second child"
  exit! 4
end
p Process.wait2(pid)[1].exitstatus
p Process.waitall
begin
  Process.wait
rescue Errno::ECHILD => e
  puts e.message
end
