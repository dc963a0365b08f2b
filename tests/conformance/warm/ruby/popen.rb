p IO.popen("echo one; echo two").readlines, IO.popen(["echo", "a b"], &:read), $?.exitstatus
IO.popen("cat", "r+") { |io| io.puts "both"; io.close_write; p io.gets }
IO.popen("-") { |io| io ? (p io.read) : puts("forked") }
