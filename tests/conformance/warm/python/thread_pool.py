from concurrent.futures import ThreadPoolExecutor, as_completed
import threading


def square(n):
    if n == 3:
        raise ValueError("three")
    return n * n, threading.current_thread().name.rsplit("_", 1)[0]


with ThreadPoolExecutor(max_workers=2) as pool:
    print(list(pool.map(square, range(3))))
    future = pool.submit(square, 3)
    print(repr(future.exception()))
pool = ThreadPoolExecutor(1)
pool.submit(print, "not shut down")
