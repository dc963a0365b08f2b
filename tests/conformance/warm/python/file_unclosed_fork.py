import os
import sys

read, write = os.pipe()
if os.fork():
    os.close(write)
    os.wait()
    print(os.read(read, 100), open("out.txt").read())
else:
    out = open("out.txt", "w")
    out.write("text in a buffer")
    binary = open(write, "wb")
    binary.write(b"binary in a buffer")
    sys.argv.append(out)
