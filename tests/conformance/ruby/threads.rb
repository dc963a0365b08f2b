counter = 0
mutex = Mutex.new

threads = Array.new(4) do
  Thread.new do
    1000.times { mutex.synchronize { counter += 1 } }
  end
end
threads.each(&:join)

puts counter
