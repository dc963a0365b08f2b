END { puts "END 1" }
at_exit { puts "at_exit 1"; p $! }
puts "body"
BEGIN { puts "BEGIN #{__LINE__}" }
2.times { END { puts "END once" } }
BEGIN { puts "second BEGIN" }
at_exit { puts "at_exit 2"; at_exit { puts "nested" } }
