import sys


class Quiet(type):
    def __eq__(cls, other):
        sys.__stdout__.write("compared\n")
        return NotImplemented

    def __hash__(cls):
        sys.__stdout__.write("hashed\n")
        return 1

    def __getattribute__(cls, name):
        sys.__stdout__.write(f"asked for {name}\n")
        return super().__getattribute__(name)


class Other(metaclass=Quiet):
    def __getattribute__(self, name):
        sys.__stdout__.write(f"asked for {name}\n")
        return super().__getattribute__(name)

    @property
    def __class__(self):
        sys.__stdout__.write("which class?\n")
        return int


other = Other()
print("end")
