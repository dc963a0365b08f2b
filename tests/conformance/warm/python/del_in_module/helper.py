class Noisy:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone", self.name, NAME)


NAME = "helper"
own = Noisy("own")
