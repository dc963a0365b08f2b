import os
import sys

read, write = os.pipe()
os.close(read)
try:
    os.write(write, b"x")
except BrokenPipeError as error:
    print("caught", error)
os.dup2(write, 1)
print("nobody reads")
