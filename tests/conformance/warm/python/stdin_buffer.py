import os
import sys

print(sys.stdin.buffer.readline(), sys.stdin.buffer.read(4), sys.stdin.buffer.peek(1)[:1])
print(sys.stdin.buffer.read(), os.read(0, 10), os.fstat(0).st_mode & 0o170000 == 0o010000)
