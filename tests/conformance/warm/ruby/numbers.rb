require "bigdecimal"
require "bigdecimal/util"
require "prime"
p 2**200, 100.digits.sum, (1..25).reduce(:*), 10.pow(100, 7), Integer.sqrt(10**40), 0.1 + 0.2, 1e100.to_i
p BigDecimal("0.1") + BigDecimal("0.2"), "1.5".to_d, 1.0 / 3, 7.fdiv(2), -7 / 2, -7 % 3, 3.14.rationalize(0.01r), 2 ** -1
p Prime.first(5), 60.prime_division, Complex(1, 2) ** 2, Math.sqrt(2), Float::NAN.nan?, 1.0.next_float, 255.to_s(2), "ff".hex
1 / 0
