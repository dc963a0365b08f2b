class Closed(Exception):
    def __setattr__(self, name, value):
        raise RuntimeError("set", name)

    def __getattribute__(self, name):
        if name == "__traceback__":
            raise RuntimeError("get", name)
        return super().__getattribute__(name)

    @property
    def __class__(self):
        raise RuntimeError("class")


def fail():
    raise Closed("text")


fail()
