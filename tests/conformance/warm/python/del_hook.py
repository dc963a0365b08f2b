import sys


class Noisy:
    def __del__(self):
        print("gone")


noisy = Noisy()
sys.excepthook = lambda *args: print("hook", noisy is None)
print("end")
raise ValueError
