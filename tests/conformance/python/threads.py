import threading

counter = 0
lock = threading.Lock()


def add_thousand():
    global counter
    for _ in range(1000):
        with lock:
            counter += 1


threads = [threading.Thread(target=add_thousand) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(counter)
