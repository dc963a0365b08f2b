require "fileutils"

text = File.read("input.txt")
FileUtils.mkdir_p("out")
File.write("out/result.txt", text.upcase(:ascii))
puts "ok"
