import os

fd = os.open("x", os.O_CREAT | os.O_RDWR)
print(os.fstat(fd).st_size, os.path.getsize(__file__) > 0)
with open("x", "w") as file:
    print(file.name, file.mode, file.encoding, file.buffer, file.line_buffering)
