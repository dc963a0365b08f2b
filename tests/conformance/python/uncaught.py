def inner():
    raise RuntimeError("boom-42")


def outer():
    inner()


outer()
