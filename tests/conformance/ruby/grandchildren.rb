child = fork do
  fork { sleep 600 }
  sleep 600
end
Process.detach(child)

puts "parent done"
