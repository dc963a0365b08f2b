print(0.1 + 0.2, 1e16, 1 / 3, float("nan"), -0.0, 10**30, complex(1, -2), 5 // -3, round(0.5), 7.0)
print(hash(12345), hash(2.5), hash(None) == hash(None), int("0x1f", 16), bin(10), f"{12345.678:,.1f}")
import decimal, fractions, math
print(decimal.Decimal("1") / 7, fractions.Fraction(1, 3) + 1, math.fsum([0.1] * 10), math.isclose(0.1 + 0.2, 0.3))
int("1" * 5000)
