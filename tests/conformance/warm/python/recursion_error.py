# needs: clean stack
import sys


def depth(n=1):
    global deepest
    deepest = n
    depth(n + 1)


try:
    depth()
except RecursionError as error:
    print(deepest, error)
sys.setrecursionlimit(5000)
try:
    depth()
except RecursionError as error:
    print(deepest, error)
sys.setrecursionlimit(100)
depth()
