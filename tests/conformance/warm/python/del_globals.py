class Noisy:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone", self.name, NAME, len(self.name))


NAME = "main"
b = Noisy("b")
a = Noisy("a")
_hidden = Noisy("hidden")
values = [Noisy("one"), Noisy("two")]
print("end")
