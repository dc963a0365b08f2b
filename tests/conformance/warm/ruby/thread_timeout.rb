require "timeout"
begin
  Timeout.timeout(0.05) { sleep 5 }
rescue Timeout::Error => e
  p e.message, e.class
end
p Timeout.timeout(5) { :fine }
