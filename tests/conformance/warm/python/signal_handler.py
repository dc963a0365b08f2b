import os
import signal
import time


def handler(number, frame):
    print("got", signal.Signals(number).name, frame.f_code.co_name)


signal.signal(signal.SIGTERM, handler)
signal.signal(signal.SIGUSR1, handler)
os.kill(os.getpid(), signal.SIGTERM)
signal.raise_signal(signal.SIGUSR1)


def on_alarm(number, frame):
    raise TimeoutError("alarm")


signal.signal(signal.SIGALRM, on_alarm)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    while True:
        time.sleep(1)
except TimeoutError as error:
    print(error)
signal.alarm(0)
