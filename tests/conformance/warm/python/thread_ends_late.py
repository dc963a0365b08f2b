import atexit
import threading


def work():
    threading.main_thread().join()
    print("thread", threading.main_thread().is_alive())
    raise KeyError("late")


threading.Thread(target=work, name="late").start()
atexit.register(print, "after the thread")
raise ValueError("main fails first")
