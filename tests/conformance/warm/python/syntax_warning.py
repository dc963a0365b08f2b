x = 5
print(x is 5, (1, 2) is (1, 2))
assert (x, "always true")
print("\d", "[1](2)")
