import threading


def work():
    raise RuntimeError("in a thread")


thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
print("after", threading.excepthook)
