"""Estimates pi by throwing 1,000,000 points at a square."""

import random

POINTS = 1_000_000

random.seed(7)
inside = 0
for _ in range(POINTS):
    x = random.random()
    y = random.random()
    if x * x + y * y <= 1.0:
        inside += 1

print(f"pi is about {4 * inside / POINTS:.4f} ({POINTS} points)")
