require "set"
s = Set[3, 1, 2]
p s, s | [5], s.include?(1), s.subset?(Set[1, 2, 3, 4]), s.to_a.sort, [1, 1].to_set, s.group_by(&:odd?)
S = Struct.new(:a, :b, keyword_init: true) { def sum = a + b }
p S.new(a: 1, b: 2), S.new(a: 1, b: 2).sum, S.members, S.new(a: 1) == S.new(a: 1)
p defined?(Data), Struct.new("Named", :x).new(1) rescue p $!.message
require "ostruct"
p OpenStruct.new(a: 1), OpenStruct.new(a: 1).b
