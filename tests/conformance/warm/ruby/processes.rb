p Process.pid, Process.getpgrp == $$, Process.getsid == $$, Process.uid == Process.euid
p Process.getrlimit(:NOFILE), Process.getrlimit(:CPU), Process.getrlimit(:STACK), Process.getrlimit(:CORE)
p Process.getpriority(Process::PRIO_PROCESS, 0), Process.groups, File.umask
p $?, Process.last_status, Process.clock_gettime(Process::CLOCK_MONOTONIC).class
p Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 5, Process.times.cutime
a = Process.clock_gettime(Process::CLOCK_REALTIME)
p (Time.now.to_f - a).abs < 1
