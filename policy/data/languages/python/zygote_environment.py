"""How a program gets its environment; a part of zygote.py."""


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
    if added[: len(known)] == list(known.items()):
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
    if b"TZ" in known:
        time.tzset()
    site = _modules.get("site")
    if site and site.ENABLE_USER_SITE:
        # As site.getusersitepackages() has it.
        home = os.fsdecode(known.get(b"HOME", b"")) or os.path.expanduser("~")
        base = site.USER_BASE = home.rstrip("/") + "/.local"
        version = f"python3.{sys.version_info[1]}"
        site.USER_SITE = f"{base}/lib/{version}/site-packages"
