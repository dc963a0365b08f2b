import os
import signal

print(signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGXFSZ))
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
read, write = os.pipe()
os.close(read)
os.write(write, b"x")
print("never")
