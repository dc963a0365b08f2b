import os

for _ in range(100):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
print("run 0")
