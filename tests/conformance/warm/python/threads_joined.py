import threading
import time


def work(n):
    time.sleep(0.02 * n)
    print("done", n)


for n in (1, 2, 3):
    threading.Thread(target=work, args=(n,)).start()
print("main ends", threading.active_count())
