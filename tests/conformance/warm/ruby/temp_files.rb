require "tempfile"
require "tmpdir"
path = nil
Tempfile.create("x") { |f| f.write "y"; f.flush; path = f.path; p File.read(path), path.start_with?("/tmp/") }
p File.exist?(path), Dir.tmpdir
Dir.mktmpdir { |d| p File.directory?(d) }
t = Tempfile.new("left")
at_exit { p File.exist?(t.path) }
