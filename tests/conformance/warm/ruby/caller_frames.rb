p caller, caller(0), caller_locations(0).map(&:path), __method__
def a = b { caller }
def b = yield
puts a, caller_locations(0, 1).first.lineno, caller_locations(0).first.absolute_path
p binding.source_location, method(:a).source_location, proc {}.source_location
class C
  puts caller(0), self
  define_method(:d) { caller(0) }
end
puts C.new.d, eval("caller(0)"), instance_eval { caller(0) }
at_exit { puts caller(0) }
