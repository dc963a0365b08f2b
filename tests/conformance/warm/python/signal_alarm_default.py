import signal
import time

signal.setitimer(signal.ITIMER_REAL, 0.02)
time.sleep(5)
