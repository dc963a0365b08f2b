$stdout.sync = true
p system("echo from sh; exit 3"), $?.exitstatus
p system("true"), system("/no/such/program"), $?.exitstatus
puts `echo backticks; echo err >&2`, $?.to_i
pid = spawn("echo spawned; read x; echo $x", in: :close, err: :out)
Process.wait pid
p $?.exitstatus
begin
  `no_such_program`
rescue Errno::ENOENT => e
  puts e.message
end
begin
  system("no_such_program", exception: true)
rescue => e
  puts e.class, e.message
end
exec "echo", "replaced", "by", *ARGV
