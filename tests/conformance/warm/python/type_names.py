import types


class Outer:
    class Inner:
        pass

    def method(self):
        return lambda: 1


def function():
    class Local:
        pass

    return Local


print(Outer, Outer.Inner, function(), Outer().method().__qualname__)
print(Outer.Inner.__qualname__, Outer.__module__, function().__qualname__, types.FunctionType)
print(object.__subclasses__().count(Outer), [c.__name__ for c in object.__subclasses__() if c.__module__ == "__main__"])
