import os
import signal
import threading
import time


def work():
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)
    print("thread ends")


threading.Thread(target=work).start()
print("main ends")
