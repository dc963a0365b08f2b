$stdout.reopen("out.txt", "w")
puts "to a file"
system("echo from a child")
$stdout.flush
$stderr.puts File.read("out.txt")
