# needs: clean stack
import warnings


def f(level):
    warnings.warn(f"level {level}", stacklevel=level)


f(1)
f(2)
f(3)
f(9)
