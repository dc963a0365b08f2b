import ctypes

libc = ctypes.CDLL(None)
libc.printf(b"from %s, %d\n", b"C", 42)
print("from Python")
libc.puts(b"buffered by the C library")
