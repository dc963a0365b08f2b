"""Adds up the numbers from 1 to 10,000."""

print(sum(range(1, 10_001)))
