import base64
import hashlib
import itertools
import json
import math
import random
import re
import statistics
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from zoneinfo import ZoneInfo


@dataclass(order=True)
class City:
    name: str
    population: int


@lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


cities = [City("Zürich", 443), City("Bern", 137), City("Aarau", 22)]
print("sorted:", [city.name for city in sorted(cities)])
print("max:", max(cities, key=lambda city: city.population))

text = json.dumps({"cities": [asdict(city) for city in cities]}, sort_keys=True)
print("json:", text)
print("parsed:", json.loads(text)["cities"][0]["name"])

words = "the quick fox and the lazy dog and the cat".split()
print("counter:", Counter(words).most_common(2))
by_length = defaultdict(list)
for word in words:
    by_length[len(word)].append(word)
print("groups:", {size: len(group) for size, group in sorted(by_length.items())})

print("regex:", re.findall(r"(\w+)@(\w+)\.org", "ann@one.org, bob@two.org"))
print("replace:", re.sub(r"\d+", lambda m: str(int(m[0]) * 2), "a1 b20 c300"))

leap_day = date(2024, 2, 29)
print("date:", leap_day.strftime("%A %d %B %Y"), leap_day + timedelta(days=366))
moment = datetime(2024, 7, 1, 12, 30, tzinfo=timezone.utc)
print("zone:", moment.astimezone(ZoneInfo("Europe/Berlin")).isoformat())

print("math:", math.gcd(84, 36), math.isqrt(10**20), f"{math.pi:.10f}")
print("big:", 2**200)
print("factorial:", math.factorial(30))
print("fibonacci:", fibonacci(90))
print("decimal:", Decimal("0.1") + Decimal("0.2"), Fraction(1, 3) + Fraction(1, 6))
print("statistics:", statistics.median([5, 1, 4]), statistics.mean([1, 2, 3, 4]))

generator = random.Random(42)
print("random:", [generator.randint(1, 100) for _ in range(5)])

print("permutations:", ["".join(p) for p in itertools.permutations("abc")])
print("reduce:", reduce(lambda a, b: a * b, range(1, 11)))
print("comprehension:", {n: n * n for n in range(1, 6) if n % 2})
print("format:", f"{255:#06x}|{'mid':^9}|{1234567.891:,.2f}|{-5:+d}|{0.256:.1%}")

print("base64:", base64.b64encode("Grüße".encode()).decode())
print("sha256:", hashlib.sha256(b"sandglass").hexdigest())
