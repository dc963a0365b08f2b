import sys

print(repr(sys.stdin.readline()), repr(sys.stdin.read(3)))
for line in sys.stdin:
    print(repr(line))
print(repr(sys.stdin.read()), sys.stdin.closed, sys.stdin.buffer.read())
