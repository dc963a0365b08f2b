space = {}
exec("import os\ndef f(): return __name__\nprint(f())", space)
print(sorted(space), eval("1 + x", {"x": 2}), space["f"].__module__)
exec("y = 5")
print(y, globals()["y"], locals() is globals())


class C:
    exec("z = 1")
    print(z)


try:
    eval("1 +")
except SyntaxError as error:
    print(error, error.text)
    raise
