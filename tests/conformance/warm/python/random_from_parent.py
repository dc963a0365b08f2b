import os
import random

numbers = {random.random()}
for _ in range(3):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, repr(random.random()).encode())
        os._exit(0)
    numbers.add(float(os.read(read, 100)))
print(len(numbers))
