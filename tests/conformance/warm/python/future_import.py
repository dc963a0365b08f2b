"""A documented program."""
from __future__ import annotations

def f(x: Undefined) -> Nothing: ...

y: int = 1
print(__doc__, f.__annotations__, __annotations__)
exec("z: Undefined = 1")
print(__annotations__)
