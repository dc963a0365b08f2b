$stdout.close
begin
  puts "x"
rescue IOError => e
  warn e.message
end
