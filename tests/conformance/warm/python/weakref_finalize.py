import weakref


class Thing:
    pass


def said(text):
    print("finalized", text)


a, b = Thing(), Thing()
weakref.finalize(a, said, "a")
weakref.finalize(b, said, "b")
kept = weakref.finalize(a, said, "not at exit")
kept.atexit = False
reference = weakref.ref(b, lambda r: print("callback"))
print("end")
