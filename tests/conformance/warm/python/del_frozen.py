import gc


class Loud:
    def __del__(self):
        print("gone")


loud = Loud()
gc.freeze()
