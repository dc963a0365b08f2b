t = Process.clock_gettime(Process::CLOCK_MONOTONIC)
p sleep(0.05).class, Fiber.scheduler, IO.select(nil, nil, nil, 0.02)
p Process.clock_gettime(Process::CLOCK_MONOTONIC) - t > 0.06
r, w = IO.pipe
Thread.new { sleep 0.02; w.puts "late"; w.close }
p IO.select([r], nil, nil, 5)&.first&.size, r.read
sleep_thread = Thread.new { sleep }
Thread.pass until sleep_thread.stop?
sleep_thread.wakeup
p sleep_thread.join(5).nil?
