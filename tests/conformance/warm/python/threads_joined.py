import threading


def work(n, previous):
    previous.join()
    print("done", n)


previous = threading.main_thread()
for n in (1, 2, 3):
    previous = threading.Thread(target=work, args=(n, previous))
    previous.start()
print("main ends", threading.active_count())
