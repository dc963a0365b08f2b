x = """a
b"""
print(repr(x))
if x:
    print(1)
1/0
