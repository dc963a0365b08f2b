# gets reads the files that ARGV names.
begin
  gets
rescue => e
  puts e.class, e.message
end
File.write("some.txt", "in a file\n")
ARGV.replace(["some.txt"])
p gets, ARGF.filename, gets
