begin
  nil.upcase
rescue NoMethodError => e
  puts e.message, e.full_message(highlight: false), e.receiver.inspect, e.name.inspect
  puts e.detailed_message rescue puts "no detailed_message"
end
[1, 2].frist
