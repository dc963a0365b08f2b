import threading

print(threading.current_thread(), threading.current_thread().name)
threads = [threading.Thread(target=lambda: print(threading.current_thread().name)) for _ in range(3)]
for thread in threads:
    thread.start()
    thread.join()
print([t.name for t in threads], threading.Timer(0, print).name)
local = threading.local()
local.x = 1
print(vars(local), threading.stack_size(), threading.TIMEOUT_MAX > 0)
lock = threading.Lock()
with lock:
    print(lock.locked(), threading.RLock().acquire(timeout=0.1))
