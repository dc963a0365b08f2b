import sys
import threading


def work():
    print("leaving the thread")
    sys.exit(3)


thread = threading.Thread(target=work)
thread.start()
thread.join()
print("still here")
