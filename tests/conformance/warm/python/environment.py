import ctypes
import os
import subprocess

print(dict(os.environ), os.environb)
print(subprocess.run(["env"], capture_output=True, text=True).stdout)
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(getenv(b"HOME"), getenv(b"PYTHONUNBUFFERED"), getenv(b"NOTHING"))
os.environ["NEW"] = "x"
print(getenv(b"NEW"), os.path.expanduser("~"))
import posix
print(sorted(posix.environ))
