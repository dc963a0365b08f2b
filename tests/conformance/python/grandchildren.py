import os
import time

if os.fork() == 0:
    os.fork()
    time.sleep(600)
    os._exit(0)

print("parent done")
