import os
import warnings

warnings.simplefilter("always")
entries = os.scandir("/")
next(entries)
file = open("/dev/null")
