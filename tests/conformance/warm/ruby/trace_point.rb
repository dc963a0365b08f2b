events = []
t = TracePoint.new(:call, :return, :c_call, :class, :raise) { |e| events << [e.event, e.method_id, e.lineno] }
def m(x) = x.to_s
t.enable
m(1)
class T; end
begin
  raise "x"
rescue
end
t.disable
p events, t.enabled?
set_trace_func proc { |event, file, line, id| events << [event, file, line, id] if file == "main.rb" }
m(2)
set_trace_func(nil)
p events.last(6)
set_trace_func proc { |*| }
