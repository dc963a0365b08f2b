p rand == rand, Random.new_seed == Random.new_seed, Random.seed.bit_length > 64, Random.urandom(8).size
require "securerandom"
p SecureRandom.hex(4).size, SecureRandom.uuid =~ /\A\h{8}-/, SecureRandom.random_number(5) < 5
