import sys

assert len(sys.stdin.buffer.read()) == 4 << 20
print("run 0")
