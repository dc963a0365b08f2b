puts "tool run as main" if __FILE__ == $0
puts __FILE__
