require "stringio"
$stdout = StringIO.new
puts "kept"
s = $stdout.string
$stdout = STDOUT
p s
begin
  $stdout = 5
rescue TypeError => e
  puts e.message
end
$stderr = StringIO.new
warn "kept"
raise "goes where?"
