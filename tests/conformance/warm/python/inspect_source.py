import inspect
import linecache
import sys


def documented(a, b: int = 2, *args, c=3, **kwargs) -> str:
    """Some words."""
    # a comment
    return f"{a}{b}"


class Thing:
    def method(self):
        pass


print(inspect.getsource(documented), inspect.getsource(Thing))
print(inspect.signature(documented), inspect.getdoc(documented), inspect.getfile(documented) == __file__)
print(inspect.getmodule(documented), inspect.getsourcelines(Thing.method))
print(linecache.getline(__file__, 1), sorted(linecache.cache) == [__file__])
print(sys._getframe().f_lineno, documented.__code__.co_filename == __file__, documented.__globals__ is globals())
