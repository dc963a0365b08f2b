"""Makes a program of the kernel: python3 kernel.py DESCRIPTOR, with commands on
its standard input and events to the descriptor.

Whoever starts it keeps PYTHONPATH and PYTHONUSERBASE from the interpreter, which
would import a sitecustomize or usercustomize from there, and hands them over as
SANDGLASS_PYTHONPATH and SANDGLASS_PYTHONUSERBASE. Cells have them as ever.
"""


def _k_take_environment():
    handed_over = False
    for name in ("PYTHONPATH", "PYTHONUSERBASE"):
        kept = os.environ.pop(f"SANDGLASS_{name}", None)
        if kept is None:
            continue
        handed_over = True
        os.environ.pop(name, None)
        if kept:
            os.environ[name] = kept
    if not handed_over:
        return
    places = os.environ.get("PYTHONPATH", "").split(":")
    sys.path[:0] = [os.path.abspath(place) for place in places if place]
    _k_add_user_site()


def _k_add_user_site():
    """As site.main() does, before the distribution's packages; but what is to be
    executed at the start of each Python (a line of a .pth file that begins with
    "import", usercustomize) is not the kernel's."""
    site = _k_modules.get("site")
    if site is None or not site.ENABLE_USER_SITE:
        return
    site.USER_BASE = site.USER_SITE = None
    place = site.getusersitepackages()
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    added = [place]
    for name in names:
        if name.endswith(".pth"):
            added += _k_places_in(place, name)
    before = list(sys.path)
    added = [new for new in added if new not in before]
    at = 0
    while at < len(before) and not before[at].endswith("-packages"):
        at += 1
    sys.path[:] = before[:at] + added + before[at:]


def _k_places_in(place, name):
    try:
        with io.open(f"{place}/{name}", encoding="utf-8") as file:
            lines = file.read(_K_READ).split("\n")
    except (OSError, ValueError):
        return []
    places = [
        os.path.join(place, line.rstrip())
        for line in lines
        if line.strip() and not line.startswith(("#", "import ", "import\t"))
    ]
    return [path for path in places if os.path.exists(path)]


def _k_main():
    events = _k_move_high(int(sys.argv[1]))
    commands = _k_move_high(os.dup(0))
    # Registered there before a cell imports it: they know the cells' lines.
    _k_own("traceback")
    for name in ("json", "select", "ast"):
        _k_own(name)
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    _k_modules["__main__"] = module
    sys.argv = [_K_MAIN]
    directory = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.abspath(sys.path[0]) == directory:
        del sys.path[0]
    _k_take_environment()
    sys.path.insert(0, "")
    kernel = _Kernel(module, commands, events, _k_loaded_by_start)
    del module
    kernel.serve()


if __name__ == "__main__":
    _k_main()
