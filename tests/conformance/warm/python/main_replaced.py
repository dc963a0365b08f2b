import sys
import types

fake = types.ModuleType("__main__")
sys.modules["__main__"] = fake


class Noisy:
    def __del__(self):
        print("gone")


noisy = Noisy()
print(__name__, sys.modules["__main__"] is fake)
