r, w = IO.pipe
pid = spawn({ "A" => "1" }, "echo $A $B $(pwd); ls /proc/self/fd | wc -l", out: w, chdir: "/tmp", unsetenv_others: true, close_others: true)
w.close
Process.wait(pid)
puts r.read
pid = spawn("ruby", "-e", "p ARGV, $0", "x", pgroup: true)
Process.wait(pid)
p Process.detach(spawn("exit 5")).value.exitstatus
