at_exit { puts "still"; p $!.class, $!.message }
at_exit { raise ArgumentError, "in at_exit" }
raise "in body"
