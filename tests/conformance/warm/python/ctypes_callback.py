import ctypes
import threading

libc = ctypes.CDLL(None)
compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


@compare_type
def compare(a, b):
    return a[0] - b[0]


values = (ctypes.c_int * 4)(3, 1, 4, 2)
libc.qsort(values, 4, ctypes.sizeof(ctypes.c_int), compare)
print(list(values))


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def in_thread(argument):
    print("from a thread of C", threading.current_thread().name.split("-")[0])
    return 0


thread = ctypes.c_ulong()
libc.pthread_create(ctypes.byref(thread), None, in_thread, None)
libc.pthread_join(thread, None)


@ctypes.CFUNCTYPE(ctypes.c_int)
def fails():
    raise ValueError("in a callback")


fails()
