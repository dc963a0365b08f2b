#!/usr/bin/python3
"""Packs an unpacked bundle as a wheel, sandglass-daemon, which pip installs
beside the package `sandglass`.

usage: wheel.py DIR SECONDS_SINCE_1970 OUT_DIR

The same bundle makes the same bytes.
"""

import base64
import hashlib
import os
import pathlib
import platform
import re
import sys
import time
import zipfile

INIT = '''"""The daemon of Sandglass, with all that it needs: see `sandglass`."""

import os
import pathlib
import sys

__version__ = {version!r}


def bundle() -> pathlib.Path:
    """The folder with bin/sandglass, sbin/sandglassd and their libraries."""
    return pathlib.Path(__file__).parent / "bundle"


def main() -> None:
    """`sandglass`, the command line tool."""
    program = str(bundle() / "bin" / "sandglass")
    os.execv(program, [program, *sys.argv[1:]])
'''

METADATA = """Metadata-Version: 2.4
Name: sandglass-daemon
Version: {version}
Summary: The daemon of Sandglass: sealed, timed, warm sandboxes for code that models wrote
License-Expression: Apache-2.0
License-File: LICENSE
License-File: THIRD-PARTY-NOTICES
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.11
Description-Content-Type: text/markdown

"""


def main(top, seconds, out):
    top = pathlib.Path(top)
    found = re.fullmatch(r"sandglass-(.+)-linux-(\w+)", top.name)
    if found is None:
        sys.exit(f"{top} isn't called like a bundle")
    version, machine = found[1], found[2]
    tag = f"py3-none-manylinux_2_36_{machine}"
    info = f"sandglass_daemon-{version}.dist-info"
    when = time.gmtime(max(int(seconds), 315532800))[:6]  # a ZIP begins in 1980
    files = {}

    def add(name, content, mode=0o644):
        files[name] = (content, mode)

    for path in sorted(top.rglob("*")):
        # The short name in the folder is for people.
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(top).as_posix()
            mode = 0o755 if os.access(path, os.X_OK) else 0o644
            add(f"sandglass_daemon/bundle/{name}", path.read_bytes(), mode)
    add("sandglass_daemon/__init__.py", INIT.format(version=version).encode())
    add("sandglass_daemon/py.typed", b"")
    readme = (top / "README.md").read_text()
    add(f"{info}/METADATA", (METADATA.format(version=version) + readme).encode())
    add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: sandglass-bundle\n"
        f"Root-Is-Purelib: false\nTag: {tag}\n".encode())
    add(f"{info}/entry_points.txt",
        b"[console_scripts]\nsandglass = sandglass_daemon:main\n")
    for name in ("LICENSE", "THIRD-PARTY-NOTICES"):
        add(f"{info}/licenses/{name}", (top / name).read_bytes())
    record = ""
    for name, (content, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        record += f"{name},sha256={digest.decode().rstrip('=')},{len(content)}\n"
    add(f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode())

    wheel = pathlib.Path(out) / f"sandglass_daemon-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            zipped.writestr(entry, content)
    print(f"{wheel}: {wheel.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
