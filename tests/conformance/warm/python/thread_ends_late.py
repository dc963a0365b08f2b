import atexit
import threading
import time


def work():
    time.sleep(0.05)
    print("thread", threading.main_thread().is_alive())
    raise KeyError("late")


threading.Thread(target=work, name="late").start()
atexit.register(print, "after the thread")
raise ValueError("main fails first")
