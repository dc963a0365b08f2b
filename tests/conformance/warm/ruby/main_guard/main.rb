require_relative "tool"
puts "main" if __FILE__ == $0
puts $PROGRAM_NAME == __FILE__
