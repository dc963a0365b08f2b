#!/usr/bin/python3
"""The record of an image: what is in it, and a digest over all of it.

  manifest.py write DIRECTORY --suite NAME --languages "ID ID"
  manifest.py digest DIRECTORY
  manifest.py verify DIRECTORY

An image has two files at its top, where no jail sees them: RECORD, which the
daemon reads, and LISTING, one line a file. The digest is SHA-256 over the
listing's text; times are not in it. docs/images.md says what it is good for.
"""

import argparse
import datetime
import gzip
import hashlib
import json
import os
import stat
import sys

RECORD = "sandglass-image.json"
LISTING = "sandglass-image.files.gz"
FORMAT = 1
SHOWN = 20


def fail(message):
    sys.exit("manifest.py: " + message)


def hash_of(path):
    total = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def escaped(name):
    """Without blanks and line ends, so that a line can't be taken for two."""
    plain = b"/._-+:@~=,%"
    return "".join(
        chr(byte) if chr(byte).isascii() and (chr(byte).isalnum() or byte in plain)
        else "\\x%02x" % byte for byte in name)


def line_of(path, name, info):
    """Path, kind, permissions, owner, size, and content or target."""
    mode = info.st_mode
    size, content = 0, "-"
    if stat.S_ISREG(mode):
        kind, size, content = "file", info.st_size, hash_of(path)
    elif stat.S_ISDIR(mode):
        kind = "directory"
    elif stat.S_ISLNK(mode):
        kind, content = "link", escaped(os.readlink(path))
    else:
        kind = "device"  # or a pipe or socket; images have none
    extra = ",".join(sorted(os.listxattr(path, follow_symlinks=False)))
    return (f"{escaped(name)} {kind} {stat.S_IMODE(mode):04o} "
            f"{info.st_uid}:{info.st_gid} {size} {content} {extra or '-'}")


def lines_of(root):
    """One for each file below it and for itself, sorted by path."""
    lines = []
    pending = [b""]
    while pending:
        name = pending.pop()
        path = os.path.join(root, name) if name else root
        info = os.lstat(path)
        lines.append((name, line_of(path, name or b".", info)))
        if stat.S_ISDIR(info.st_mode):
            for entry in os.listdir(path):
                below = os.path.join(name, entry)
                if below not in (RECORD.encode(), LISTING.encode()):
                    pending.append(below)
    return [line for _, line in sorted(lines)]


def digest_of(lines):
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def remove_capabilities(root):
    """Those of files; a jail's mounts would ignore them."""
    for directory, _, files in os.walk(root):
        for name in files:
            path = os.path.join(directory, name)
            if "security.capability" in os.listxattr(path, follow_symlinks=False):
                os.removexattr(path, "security.capability", follow_symlinks=False)


def packages_of(root):
    """Versions by package, from dpkg's list, and the architecture."""
    packages, architecture, name = {}, "", ""
    with open(os.path.join(root, b"var/lib/dpkg/status"), encoding="utf-8") as file:
        for line in file:
            key, _, value = line.rstrip("\n").partition(": ")
            if key == "Package":
                name = value
            elif key == "Version":
                packages[name] = value
            elif key == "Architecture" and name == "dpkg":
                architecture = value
    return dict(sorted(packages.items())), architecture


def write(root, suite, languages):
    remove_capabilities(root)
    packages, architecture = packages_of(root)
    # Before the listing, or the top's own line changes with their making.
    for name in (RECORD, LISTING):
        open(os.path.join(root, name.encode()), "w", encoding="ascii").close()
    os.chmod(root, 0o755)
    lines = lines_of(root)
    time = int(os.environ.get("SOURCE_DATE_EPOCH") or datetime.datetime.now().timestamp())
    record = {
        "format": FORMAT,
        "digest": digest_of(lines),
        "built": datetime.datetime.fromtimestamp(time, datetime.timezone.utc)
                 .strftime("%Y-%m-%dT%H:%M:%SZ"),
        "suite": suite,
        "architecture": architecture,
        "languages": languages,
        "packages": packages,
    }
    text = "".join(line + "\n" for line in lines).encode()
    with open(os.path.join(root, LISTING.encode()), "wb") as file:
        file.write(gzip.compress(text, mtime=0))
    with open(os.path.join(root, RECORD.encode()), "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")


def recorded_digest(root):
    path = os.path.join(root, RECORD.encode())
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        if record["format"] != FORMAT:
            fail(f"{os.fsdecode(path)}: format {record['format']} is not one "
                 f"that this version knows ({FORMAT})")
        return record["digest"]
    except FileNotFoundError:
        fail(f"{os.fsdecode(root)} has no {RECORD}: build.sh didn't make it")
    except (ValueError, KeyError, TypeError) as problem:
        fail(f"{os.fsdecode(path)} is damaged: {problem!r}")


def verify(root):
    digest = recorded_digest(root)
    lines = lines_of(root)
    if digest_of(lines) == digest:
        print(f"{os.fsdecode(root)}: {len(lines)} files are as they were built, "
              f"digest {digest}")
        return
    try:
        with gzip.open(os.path.join(root, LISTING.encode()), "rt") as file:
            before = file.read().splitlines()
    except (OSError, EOFError, ValueError):
        before = []
    if digest_of(before) != digest:
        fail(f"{os.fsdecode(root)} is not as it was built, and neither is "
             f"{LISTING}, which would say in what")
    then, now = ({line.split(" ", 1)[0]: line for line in each}
                 for each in (before, lines))
    changes = sorted(
        (path, "is gone" if path not in now else
         "is new" if path not in then else "is not as it was")
        for path in then.keys() | now.keys() if then.get(path) != now.get(path))
    for path, what in changes[:SHOWN]:
        print(f"{path} {what}", file=sys.stderr)
    fail(f"{os.fsdecode(root)}: {len(changes)} files are not as they were built")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["write", "digest", "verify"])
    parser.add_argument("directory")
    parser.add_argument("--suite", default="")
    parser.add_argument("--languages", default="")
    options = parser.parse_args()
    root = os.fsencode(os.path.realpath(options.directory))
    if not os.path.isdir(root):
        fail(f"there is no directory {options.directory}")
    if options.action == "write":
        write(root, options.suite, options.languages.split())
    elif options.action == "digest":
        print(recorded_digest(root))
    else:
        verify(root)


if __name__ == "__main__":
    main()
