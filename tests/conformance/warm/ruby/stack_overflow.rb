def down(n) = down(n + 1)
begin
  down(0)
rescue SystemStackError => e
  puts e.message, e.class, e.backtrace.size > 1000
end
p 1
