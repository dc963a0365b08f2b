import sys

module = sys.modules["__main__"]
print({name: value for name, value in vars(module).items() if name not in ("__loader__", "module")})
print(type(__loader__), __loader__.name, __loader__.path)
print(list(vars(module)), __name__, module)
import __main__
print(__main__ is module, __builtins__, __debug__)
