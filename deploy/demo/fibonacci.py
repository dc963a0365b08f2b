"""Prints the first 20 Fibonacci numbers."""

a, b = 0, 1
numbers = []
for _ in range(20):
    numbers.append(a)
    a, b = b, a + b

print(*numbers)
