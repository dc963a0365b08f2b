import contextlib


@contextlib.contextmanager
def managed(name):
    print("enter", name)
    try:
        yield name
    finally:
        print("leave", name)


stack = contextlib.ExitStack()
stack.enter_context(managed("a"))
kept = managed("b")
kept.__enter__()
with managed("c"):
    raise LookupError("uncaught")
