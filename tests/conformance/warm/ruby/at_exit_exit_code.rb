at_exit { puts "first"; exit 7 }
at_exit { puts "second"; exit 5 }
exit 3
