import sys


class Noisy:
    def __del__(self):
        print("gone")


noisy = Noisy()
sys.modules.clear()
print("end")
