begin
  raise "lost"
ensure
  puts "ensure"
  exit 2
end
