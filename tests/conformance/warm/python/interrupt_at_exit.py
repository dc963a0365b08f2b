import os
import signal
import threading
import time


def work():
    threading.main_thread().join()
    time.sleep(0.2)  # by now it waits for this thread
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
    print("never")


threading.Thread(target=work).start()
print("main ends")
