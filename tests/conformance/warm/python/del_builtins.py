import builtins


class Noisy:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone", self.name)


builtins.extra = Noisy("in builtins")
builtins._ = Noisy("underscore")
mine = Noisy("main")
print("end")
