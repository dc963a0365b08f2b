pid = fork { raise "in the child" }
Process.wait(pid)
p $?.exitstatus
pid = fork { Process.kill(:TERM, $$); sleep 5 }
Process.wait(pid)
p $?.termsig, $?.signaled?
