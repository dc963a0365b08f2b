require "minitest/autorun" rescue LoadError
at_exit { puts "mine" }
puts "loaded"
begin
  require "test/unit"
rescue LoadError => e
  puts e.message
end
