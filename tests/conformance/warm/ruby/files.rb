File.write("a.txt", "one\ntwo\n")
p File.read("a.txt"), File.size("a.txt"), File.exist?("b"), Dir.children(".").sort, Dir.glob("*.rb"), Dir.pwd, Dir.home, Dir.tmpdir rescue p $!.class
File.open("a.txt", "a") { |f| f.puts "three"; p f.fileno, f.path, f.pos }
f = File.open("b.txt", "w")
f.write "flushed at the end"
f = nil
Dir.mkdir("d")
Dir.chdir("d") { p Dir.pwd, __dir__ }
p File.stat("a.txt").mode.to_s(8), File.foreach("a.txt").map(&:chomp), File.extname("x.rb"), File.join("a", "b")
begin
  File.open("/nowhere/x")
rescue Errno::ENOENT => e
  puts e.message
end
begin
  File.write("/etc/x", "")
rescue SystemCallError => e
  puts e.class
end
