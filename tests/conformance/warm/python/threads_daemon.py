import atexit
import threading
import time


def work():
    while True:
        time.sleep(0.005)
        counts.append(1)


counts = []
thread = threading.Thread(target=work, daemon=True)
thread.start()
while len(counts) < 3:
    time.sleep(0.001)
atexit.register(print, "at exit", thread.is_alive())
print("main ends")
