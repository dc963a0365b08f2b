"""What a zygote's child does before its program comes; a part of zygote.py.

A program writes to pages that it shares with the zygote, and uses parts of the
interpreter that are made at their first use: both takes longer than many a
program's own work. So a child does typical things once, after its fork and
before its program comes. What takes long and few programs use is not among
them: each child pays for it.
"""

# Is compiled in each child, and dies of an exception.
_FIRST_PROGRAM = r'''
import sys
class Animal:
    kind = "animal"
    def __init__(self, name, legs=4):
        self.name, self.legs = name, legs
    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {self.legs:>3d})"
    @property
    def title(self):
        return self.name.title()
class Bird(Animal):
    def __init__(self, name):
        super().__init__(name, legs=2)
class Odd(ValueError):
    """Words."""
def countdown(n: int) -> list:
    while n > 0:
        yield n
        n -= 1
def total(*args, **kwargs):
    result = 0
    for i, arg in enumerate(args):
        if i % 2 == 0 and arg is not None:
            result += arg * 2
        elif not arg or i in (3, 5):
            continue
        else:
            break
    return result + len(kwargs)
zoo = [Animal("cat"), Bird("owl")]
print(zoo, sorted(zoo, key=lambda a: a.legs)[0].title, sum(countdown(5)), end="\n")
print([n * n for n in range(9) if n & 1], {n: str(n) for n in "ab"}, {1, 2}, (1, *zoo)[1:])
print(total(1, 2, 3, x=4), f"{3.14159:.2f} {10**20:,}", "%-5s|%d" % ("ab", 7), -2 // 3)
with open(__file__) as file:
    lines = [line.rstrip() for line in file if "class" in line]
try:
    assert len(lines) > 1, "never"
    {}["key"]
except (KeyError, IndexError) as error:
    print(type(error).__name__, error)
finally:
    del lines
def fail(depth):
    if depth:
        return fail(depth - 1)
    raise Odd("odd", depth)
if __name__ == "__main__":
    fail(3)
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
# loaded. More of them (datetime, math, random, decimal...) made each child 0.4
# MiB larger, and programs no faster that could be told.
_PIECES = (
    (None, r'''
import sys
class Animal:
    kind = "animal"
    def __init__(self, name, legs=4):
        self.name, self.legs = name, legs
    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {self.legs:>3d})"
    @property
    def title(self):
        return self.name.title()
    @classmethod
    def parse(cls, text):
        name, legs = text.split(":")
        return cls(name.strip(), int(legs))
    @staticmethod
    def add(a, *args, **kwargs):
        return a + sum(args) + len(kwargs)
class Bird(Animal):
    def __init__(self, name):
        super().__init__(name, 2)
    def __eq__(self, other):
        return isinstance(other, Bird) and self.name == other.name
    def __hash__(self):
        return hash(self.name)
    def __lt__(self, other):
        return self.name < other.name
    def __len__(self):
        return self.legs
    def __iter__(self):
        yield from self.name
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return True
class Odd(ValueError):
    pass
def memo(f):
    cache = {}
    def inner(n):
        if n not in cache:
            cache[n] = f(n)
        return cache[n]
    return inner
@memo
def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def countdown(n):
    try:
        while n:
            yield n
            n -= 1
    finally:
        n = 0
def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))
def fail(depth):
    if depth:
        return fail(depth - 1)
    try:
        {}["key"]
    except KeyError as error:
        raise Odd("odd", depth) from error
zoo = [Animal("cat"), Bird("owl"), Animal.parse("ant: 6"), Bird("auk")]
print(zoo, zoo[1].title, len(zoo[1]), list(zoo[1]), sorted([zoo[1], zoo[3]]))
print(sorted(zoo, key=lambda a: (a.legs, a.name), reverse=True), fib(40))
print([n for n in range(60) if is_prime(n)], {n: n * n for n in range(9)})
print(Animal.add(1, 2, 3, x=4), {zoo[1], zoo[3]}, sum(countdown(5)), sep=" ", end="\n")
print(f"{3.14159:.2f} {10**20:,} {255:#x} {'mid':^9}|{0.1 + 0.2!r} {1e10:e} {True}")
print("%-5s|%05.1f|%d" % ("ab", 2.5, 7), "{:>4}{x}".format(1, x="y"), b"\x00ab".hex())
words = "the quick brown fox jumps over the lazy dog the end".split()
counts = {}
for index, word in enumerate(words):
    counts[word] = counts.get(word, 0) + 1
    counts.setdefault(word.upper(), []) if index % 2 else None
print(counts, max(counts, key=len), " ".join(reversed(words)).capitalize())
print("a,b;c".replace(";", ",").split(","), "x".join("abc"), "abc"[::-1], "ü🌍".encode())
print(any(words), min(3, 2), abs(-4), round(2.567, 1), divmod(17, 5), 2 ** 100, 7 // 2)
print(list(zip("ab", (1, 2))), list(map(str, range(3))), list(filter(None, [0, 1])))
a, *b = (1, 2, 3)
b += [4]; b.append(5); b.extend((6,)); b.sort(); b.reverse(); b.pop(); b.insert(0, 9)
s = {1, 2} | {3} & {3, 4} ^ {5}; s.add(8); s.discard(1)
d = dict(a=1) | {"b": [2, {"c": None}]}; d.update(z=1); del d["a"]
print(a, b, s, frozenset(s), d, list(d.items()), "b" in d, d == {}, b[1:3], bytearray(b"q"))
matrix = [[i * j for j in range(4)] for i in range(4)]
print(*matrix, [list(row) for row in zip(*matrix)], sep="\n")
match d:
    case {"b": [int(x), *rest]}:
        print(x, rest)
    case _:
        pass
while (n := len(words)) > 8:
    words.pop()
with Bird("emu"):
    raise Odd("inside")
for attempt in (lambda: 1 / 0, lambda: [][1], lambda: int("x"), lambda: None + 1,
                lambda: zoo[0].nothing, lambda: undefined, lambda: next(iter(()))):
    try:
        attempt()
    except (ArithmeticError, LookupError, ValueError) as error:
        print(type(error).__name__, error, repr(error))
    except Exception as error:
        print(f"{error!s:.40}", error.args)
    else:
        pass
    finally:
        a = 0
assert a == 0, "never"
print("to stderr", file=sys.stderr)
sys.stdout.write("text\n"); sys.stdout.flush()
total = 0
for i in range(300):
    total += i * i % 7 if i & 1 else -i
print(total, isinstance(total, int), callable(fib), getattr(zoo[0], "x", None), globals().get("q"))
'''),
    ("re", r'''
import re
print(re.findall(r"(\w+)@(\w+)\.com", "bob@site.com, eve@host.com"))
print(re.sub(r"\s+", " ", "a  b \n c"), re.match(r"(?P<y>\d{4})-(?P<m>\d\d)", "2024-05").groupdict())
'''),
    ("collections", r'''
from collections import Counter, OrderedDict, defaultdict, deque
print(Counter("mississippi").most_common(2), deque([1, 2], maxlen=2))
groups = defaultdict(list)
for word in words:
    groups[len(word)].append(word)
print(dict(groups), OrderedDict(a=1))
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
