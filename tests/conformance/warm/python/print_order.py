import sys

for i in range(5):
    print("out", i)
    print("err", i, file=sys.stderr)
print("no newline", end="")
