srand(1)
p rand, rand(100), [1, 2, 3, 4].shuffle, [1, 2, 3].sample, Random.rand(5), Random.new(42).bytes(4).bytes
p Random.new(3).rand(1.0..2.0), Random.seed, srand(5), Kernel.rand(2..3)
p [1, 2, 3, 4, 5].shuffle(random: Random.new(9))
