"""What a zygote's child does before its program comes; a part of zygote.py.

A program writes to pages that it shares with the zygote, and uses parts of the
interpreter that are made at their first use: both takes longer than many a
program's own work. So a child does typical things once, after its fork and
before its program comes. What takes long and few programs use is not among
them: each child pays for it.
"""

# Is compiled in each child. How an error is shown isn't in it: 0.15 MiB of each
# child for those programs that end in one.
_FIRST_PROGRAM = r'''
import sys
class Animal:
    def __init__(self, name, legs=4):
        self.name, self.legs = name, legs
    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {self.legs:>3d})"
def countdown(n: int) -> list:
    while n > 0:
        yield n
        n -= 1
def total(numbers):
    result = 0
    for i, number in enumerate(numbers):
        if i % 2 == 0 and number is not None:
            result += number * 2
        else:
            continue
    return result
zoo = [Animal("cat"), Animal("owl", legs=2)]
print(zoo, sorted(zoo, key=lambda a: a.legs)[0].name.title(), sum(countdown(5)))
print([n * n for n in range(9) if n & 1], {n: str(n) for n in "ab"}, {1, 2}, zoo[1:])
print(total([1, 2, 3]), f"{3.14159:.2f}", -2 // 3)
try:
    {}["key"]
except KeyError as error:
    print(type(error).__name__, error)
'''

# Of large libraries: compiled in the zygote, and run there too, so that what they
# load at their first use is there.
_NUMPY = r'''
import numpy as np
m = np.arange(12.0).reshape(3, 4)
print(m, m @ m.T, m.mean(axis=0), np.linalg.inv(np.eye(3) * 2), m[m > 3].sum(), np.sort(m)[::-1])
print(np.random.default_rng(1).normal(size=3), np.array([1, 2], dtype=np.int32), np.linspace(0, 1, 5))
'''
_PANDAS = r'''
import pandas as pd
frame = pd.DataFrame({"k": list("aab"), "v": [1, 2, 3], "w": [1.5, None, 2.5]})
print(frame, frame.groupby("k").v.sum(), frame.describe(), frame[frame.v > 1].sort_values("v"))
'''
# Run only there: a figure takes longer than what a child would gain.
_MATPLOTLIB = r'''
import io
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2, 3], [3, 1, 2], label="line")
axes.set(title="Title", xlabel="x", ylabel="y")
axes.legend()
figure.savefig(io.BytesIO(), format="png")
plt.close(figure)
'''
_LIBRARY_PIECES = (
    ("numpy", _NUMPY),
    ("pandas", _PANDAS),
    ("matplotlib.pyplot", _MATPLOTLIB),
)

# Is compiled in the zygote. Each piece is left out where its module isn't
# loaded. More of them, and a longer one of the language itself, made each child
# larger (collections 0.2 MiB; datetime, math, random and decimal 0.4) and
# programs no faster that could be told.
_PIECES = (
    ("re", r'''
import re
print(re.findall(r"(\w+)@(\w+)\.com", "bob@site.com, eve@host.com"))
print(re.sub(r"\s+", " ", "a  b \n c"), re.match(r"(?P<y>\d{4})-(?P<m>\d\d)", "2024-05").groupdict())
'''),
    ("json", r'''
import json
text = json.dumps({"a": [1, 2.5, None, True], "b": {"c": "ü"}}, indent=2, sort_keys=True)
print(text, json.loads(text), json.dumps([1, "x"]))
try:
    json.loads("{bad")
except json.JSONDecodeError as error:
    print(error)
'''),
    ("numpy", _NUMPY),
    ("pandas", _PANDAS),
)
