import sys

count = 0
for line in sys.stdin:
    print(len(line.rstrip("\n")))
    count += 1
print(f"lines: {count}")
