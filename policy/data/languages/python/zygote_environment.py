"""How a program gets its environment, and what in it would change imports that
are done; a part of zygote.py."""


def _set_environment(env):
    known = os.environ._data
    wanted = {}
    for entry in env:
        name, sign, value = entry.partition(b"=")
        # Of two equal names the first counts (convertenviron() in
        # Modules/posixmodule.c).
        if sign and name not in wanted:
            wanted[name] = value
    added = list(wanted.items())
    replaced = added[: len(known)] != list(known.items())
    if not replaced:
        # As with libraries, whose variables come behind all others.
        added = added[len(known) :]
        if not added:
            return
    else:
        for name in known:
            os.unsetenv(name)
        known.clear()
    known.update(added)
    for name, value in added:
        if name:
            os.putenv(name, value)
    names = {name for name, _ in added}
    if b"TZ" in names:
        time.tzset()
    site = _modules.get("site")
    if (replaced or b"HOME" in names) and site and site.ENABLE_USER_SITE:
        # As site.getusersitepackages() has it.
        home = os.fsdecode(known.get(b"HOME", b"")) or os.path.expanduser("~")
        base = site.USER_BASE = home.rstrip("/") + "/.local"
        version = f"python3.{sys.version_info[1]}"
        site.USER_SITE = f"{base}/lib/{version}/site-packages"


def _rehearse_libraries():
    """What a program with libraries has of its environment, and no trace of it."""
    _layer_would_import_otherwise(_LAYER)
    known = os.environ._data
    if b"PYTHONPATH" in known:
        return
    _set_environment(
        [name + b"=" + value for name, value in known.items()]
        + [b"PYTHONPATH=" + _LAYER.encode()]
    )
    _python_path()
    del known[b"PYTHONPATH"]
    os.unsetenv(b"PYTHONPATH")


def _would_import_otherwise(directory):
    """Whether the program's directory has something that acts on imports that
    are done already: `import queue` is to find the program's queue.py."""
    try:
        entries = os.listdir(directory)
    except OSError:
        return False
    for entry in entries:
        name, _, suffix = entry.partition(".")
        if (
            name in _preloaded_names
            and not _was_found_in(directory, name)
            and (
                "." + suffix in machinery.all_suffixes()
                or os.path.exists(os.path.join(directory, entry, "__init__.py"))
            )
        ):
            return True
        if entry == "matplotlibrc" and "matplotlib" in _preloaded_names:
            return True
    return False


# Where the libraries of a request are.
_LAYER = "/opt/libraries"
_LAYER_BYTES = _LAYER.encode()
_layers_looked_at = {}


def _layer_would_import_otherwise(directory):
    """The same of a directory that nobody changes: looked at once, mostly before
    there is a program."""
    try:
        place = os.stat(directory)
    except OSError:
        return False
    key = place.st_dev, place.st_ino
    if key not in _layers_looked_at:
        _layers_looked_at[key] = _would_import_otherwise(directory)
    return _layers_looked_at[key]


def _was_found_in(directory, name):
    """Whether what was preloaded by that name is the directory's own."""
    origin = getattr(getattr(_preloaded.get(name), "__spec__", None), "origin", None)
    return bool(origin) and origin.startswith(directory + "/")
