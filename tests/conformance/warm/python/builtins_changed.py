import builtins

real = builtins.print
builtins.print = lambda *args: real("[mine]", *args)
builtins.isinstance = builtins.getattr = builtins.callable = None
print("x")


class Noisy:
    def __del__(self):
        print("gone")


noisy = Noisy()
1 / 0
