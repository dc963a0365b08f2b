import os
import sys

print(sys.argv, sys.orig_argv, sys.executable, __file__)
print(sys.path)
print(sys.path[0] == os.getcwd(), os.listdir("."))
