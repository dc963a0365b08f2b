class Leave(SystemExit):
    def __setattr__(self, name, value):
        raise RuntimeError("set", name)

    @property
    def __class__(self):
        raise RuntimeError("class")

    @property
    def __dict__(self):
        raise RuntimeError("dict")


class Seven(int):
    def __int__(self):
        raise RuntimeError("int")

    def __le__(self, other):
        raise RuntimeError("less")

    __lt__ = __ge__ = __gt__ = __le__


raise Leave(Seven(7))
