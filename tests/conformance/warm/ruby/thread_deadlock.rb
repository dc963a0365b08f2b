begin
  Thread.stop
rescue Exception => e
  p e.class
  puts e.message.lines.first
end
