import sys

print(type(sys.modules), "__main__" in sys.modules, [n for n in sys.modules if "zygote" in n or "sandglass" in n])
print(vars(sys.modules["__main__"]) is globals())
for name, module in list(sys.modules.items()):
    assert module is None or getattr(module, "__name__", None), name
