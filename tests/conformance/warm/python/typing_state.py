import abc
import typing
from collections.abc import Iterable, Sized

print(typing.List[int] is typing.List[int], isinstance([], Iterable), issubclass(list, Sized))
@typing.runtime_checkable
class Closes(typing.Protocol):
    def close(self): ...
print(isinstance(open("x", "w"), Closes), abc.get_cache_token() >= 0)
class N(typing.NamedTuple):
    a: int
    b: str = "x"
print(N(1), N.__annotations__, typing.get_type_hints(N), N.__module__)
