own = ENV.to_h.reject { |name, _| name == "RUBYSHELL" }
p own, ENV.keys - ["RUBYSHELL"], ENV["PATH"].encoding, ENV["HOME"].frozen?
ENV["NEW"] = "1"
puts `echo $NEW $HOME $LD_PRELOAD $LANG`
ENV.delete("LANG")
p `env`.lines.map { |line| line[/\A\w+/] }.sort - %w[RUBYSHELL]
ENV.clear
p ENV.to_h
