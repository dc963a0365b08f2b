p "a".hash == "a".dup.hash, :a.hash == :a.hash, 1.hash == 1.0.hash, [1].hash == [1].hash, nil.hash.class
h = { b: 1, "a" => 2, 3 => [4], nil => nil }
p h, h.to_a, h.sort_by { |k, _| k.to_s }, h.invert, h.any?, h.sum { |_, v| v.to_s.size }, h.compare_by_identity.size
h = Hash.new { |hash, k| hash[k] = k * 2 }
p h[2], h, h.default_proc.arity, h.dig(2)
