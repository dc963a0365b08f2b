at_exit { puts "at exit" }
raise Interrupt, "words"
