import os
import sys

sys.stdout.reconfigure(write_through=False, line_buffering=False)
print("buffered")
os.write(1, b"unbuffered\n")
sys.stdout.write("rest")
