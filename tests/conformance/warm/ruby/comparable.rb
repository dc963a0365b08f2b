class V
  include Comparable
  attr_reader :n
  def initialize(n) = @n = n
  def <=>(o) = n <=> o.n
  def succ = V.new(n + 1)
  def inspect = "V#{n}"
  def hash = n
  def eql?(o) = n == o.n
  def coerce(o) = [V.new(o), self]
end
p V.new(1) < V.new(2), V.new(3).clamp(V.new(1), V.new(2)), (V.new(1)..V.new(4)).to_a, [V.new(2), V.new(1)].sort
p({ V.new(1) => 1 }[V.new(1)], [V.new(1), V.new(1)].uniq, V.new(1).between?(V.new(0), V.new(2)))
V.new(1) < 5
