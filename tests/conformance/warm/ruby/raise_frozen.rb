A = [1].freeze
A << 2
