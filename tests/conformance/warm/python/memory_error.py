try:
    x = bytearray(1 << 60)
except MemoryError as error:
    print(repr(error))
y = [0] * (1 << 60)
