import sys

sys.setrecursionlimit(10**9)
sys.stdout.write("descending\n")
sys.stdout.flush()


def descend(_):
    return max(map(descend, [0]))  # through C: each level takes machine stack


descend(0)
