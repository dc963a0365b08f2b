p $0, $PROGRAM_NAME, __FILE__, __dir__, __LINE__, __method__, __ENCODING__
p ARGV, ARGV.frozen?, ARGV.map(&:frozen?), ARGV.map(&:encoding), Process.argv0
p File.expand_path(__FILE__), File.realpath($0), $0 == __FILE__, $0.frozen?
p self, self.class, self.singleton_methods.sort, binding.local_variables
p TOPLEVEL_BINDING.local_variables, TOPLEVEL_BINDING.receiver.equal?(self)
later = 1
