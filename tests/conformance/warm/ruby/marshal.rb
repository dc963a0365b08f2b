Point = Struct.new(:x)
p Marshal.load(Marshal.dump([1, "ü", :a, { b: [Point.new(1)] }, 2**70, 1.5, nil, (1..2)])), Marshal.dump("x").bytes
Marshal.dump(proc {})
