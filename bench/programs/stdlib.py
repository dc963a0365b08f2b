import collections
import csv
import datetime
import io
import itertools
import json
import math
import random
import re
import statistics
import string

random.seed(1)
words = [''.join(random.choices(string.ascii_lowercase, k=4)) for _ in range(200)]
counts = collections.Counter(word[0] for word in words)
out = io.StringIO()
csv.writer(out).writerows(sorted(counts.items()))
found = re.findall(r'(\w),(\d+)', out.getvalue())
days = [datetime.date(2026, 1, 1) + datetime.timedelta(n) for n in range(50)]
record = json.loads(json.dumps({
    'mean': statistics.mean(int(n) for _, n in found),
    'root': math.sqrt(sum(day.day for day in days)),
    'pairs': list(itertools.islice(itertools.combinations(counts, 2), 10)),
}))
print('run 0' if len(record['pairs']) == 10 else 'wrong')
