import queue
import random
import statistics

print(queue.MINE, random.MINE, statistics.mean([1, 2]))
print(queue.__file__.rsplit("/", 1)[-1], hasattr(random, "randint"))
import string
print(string.ascii_lowercase[:3], string.__file__)
import re, json, dataclasses
print(re.findall("a+", "aaba"), json.dumps([1]))
import tempfile
