class Deep
  def initialize = (@a = [1] * 40; @b = { long: "x" * 70, list: %w[a b c] })
end
pp Deep.new.instance_variable_get(:@b), (1..50).to_a
a = [1]
a << a
p a, [nil, true, :sym, 1.0, "q\"\e\u00e9", /r/i, 1..2, Object, -> {}.lambda?]
puts a.inspect, "%p" % [a], a.to_s
