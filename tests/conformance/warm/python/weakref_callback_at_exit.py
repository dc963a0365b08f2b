import weakref


class Thing:
    pass


class Own(weakref.ref):
    pass


one, two, three = Thing(), Thing(), Thing()
refs = [
    weakref.ref(one, lambda ref, print=print: print("one is gone")),
    Own(two, lambda ref, print=print: print("two is gone")),
    weakref.proxy(three, lambda ref, print=print: print("three is gone")),
]
del one
del two
keep = refs
del refs
print("end")
