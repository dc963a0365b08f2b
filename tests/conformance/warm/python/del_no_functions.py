Noisy = type("Noisy", (), {"__del__": lambda self, print=print: print("gone", self.name)})
a = Noisy(); a.name = "a"
b = Noisy(); b.name = "b"
print("end")
