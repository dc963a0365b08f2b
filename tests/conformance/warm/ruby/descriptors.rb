p File.open("/etc/passwd").fileno, IO.pipe.map(&:fileno), Dir.open("/").fileno
p IO.for_fd(1, autoclose: false).fileno, File.readlink("/proc/self/fd/3"), File.readlink("/proc/self/fd/4")
begin
  IO.for_fd(5).read
rescue => e
  puts e.class
end
10.times do |i|
  IO.for_fd(i + 200, autoclose: false)
rescue SystemCallError => e
  puts e.class
end
