import threading

import numpy as np

sums = {}


def work(n):
    sums[n] = float((np.arange(1000.0) * n).sum())


threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sorted(sums.items()), threading.active_count(), threading.main_thread().name)
