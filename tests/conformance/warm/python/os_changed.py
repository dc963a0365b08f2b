import os
import sys

os.getpid = os.fstat = os.write = os.kill = None
sys.exit = None
print("x")
raise KeyboardInterrupt
