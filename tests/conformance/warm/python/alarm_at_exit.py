import atexit
import signal
import time


def handler(number, frame):
    raise RuntimeError("alarm")


def wait():
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    time.sleep(5)


atexit.register(print, "last")
atexit.register(wait)
signal.signal(signal.SIGALRM, handler)
