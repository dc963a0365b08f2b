require "open3"
o, e, s = Open3.capture3("cat; echo err >&2; exit 2", stdin_data: "given")
p o, e, s.exitstatus
o, s = Open3.capture2e("echo a; echo b >&2")
p o.lines.sort, s.success?
Open3.popen3("tr a-z A-Z") { |i, oo, _, t| i.puts "up"; i.close; p oo.read, t.value.success? }
