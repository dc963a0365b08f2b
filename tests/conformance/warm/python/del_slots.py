class Small:
    __slots__ = ()

    def __del__(self):
        print("gone")


kept = [Small(), Small()]
