import threading
import time


def work():
    started.set()
    while not stop.is_set():
        time.sleep(0.001)
    while True:
        time.sleep(0.001)
        print("after the end")


class Slow:
    def __del__(self):
        stop.set()
        time.sleep(0.05)
        print("gone")


started, stop = threading.Event(), threading.Event()
threading.Thread(target=work, daemon=True).start()
started.wait()
slow = Slow()
print("main ends")
