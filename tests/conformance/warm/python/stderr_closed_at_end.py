import os
import sys

print("out")
os.close(2)
sys.exit("nobody hears it")
