#!/usr/bin/python3
"""A registry of packages that it makes itself, and a server of many bytes,
both on a loopback address that jails do not take for their own.

usage: registry.py DIR VERSIONS

Packages are made below DIR in VERSIONS versions each, 1 and up, so that one
that nobody has installed yet is there for each measurement; then DIR/ports has
the ports of the registry and of the bytes, in one line. It serves until it is
killed.

  bench-small   7 modules, 10 files with what pip makes
  bench-large   1200 modules, 20 shared objects and 780 other files, 20 MB; needs
                bench-small
  bench-npm     300 files, 2 MB; needs bench-npm-small

Each connection to the port of the bytes gets GIB bytes for whatever it says
first: with a head when it is a GET, else as they are, as through a tunnel.
"""

import base64
import hashlib
import http.server
import io
import json
import os
import random
import shutil
import socketserver
import sys
import tarfile
import threading
import zipfile

GIB = 1 << 30
PIECE = memoryview(bytes(256 << 10))

MODULE = '''"""Part {n} of the package: made for a measurement."""

import collections
import functools

LIMITS_{n} = {{"low": {n}, "high": {n} * 7, "names": ["a{n}", "b{n}", "c{n}"]}}


class Reader{n}(collections.UserDict):
    """Keeps what was read, by name."""

    def __init__(self, source, limit=LIMITS_{n}["high"]):
        super().__init__()
        self.source = source
        self.limit = limit

    def read(self, count):
        """Reads at most `count` entries; gives how many there were."""
        done = 0
        for name, value in self.source:
            if done >= min(count, self.limit):
                break
            if isinstance(value, str) and value.startswith("#"):
                continue
            self[name] = [part.strip() for part in str(value).split(",")]
            done += 1
        return done

'''
FUNCTION = '''
@functools.lru_cache(maxsize=None)
def weigh_{n}_{i}(first, second={i}, *rest, scale=1.0):
    """Weighs its arguments against each other."""
    total = 0
    for at, value in enumerate((first, second, *rest)):
        if value is None:
            continue
        try:
            total += (value * at + {i}) % (LIMITS_{n}["high"] + 1)
        except TypeError as error:
            raise ValueError(f"argument {{at}} of weigh_{n}_{i}") from error
    return {{"total": total * scale, "mean": total / (2 + len(rest))}}

'''


def module(number, functions):
    text = MODULE.format(n=number)
    return text + "".join(FUNCTION.format(n=number, i=i)
                          for i in range(functions))


def binary(rng, size):
    """As compressible as machine code."""
    words = [rng.randbytes(4) for _ in range(4096)]
    return b"\x7fELF" + b"".join(rng.choices(words, k=size // 4))


def small_files(name):
    files = {f"{name}/__init__.py": f"from {name}.part_1 import Reader1\n"}
    files.update({f"{name}/part_{i}.py": module(i, 6) for i in range(1, 7)})
    return {path: text.encode() for path, text in files.items()}


def large_files(name):
    rng = random.Random(8)
    files = {f"{name}/__init__.py": f"from {name}.p0.part_1 import Reader1\n"}
    for package in range(40):
        files[f"{name}/p{package}/__init__.py"] = ""
        for part in range(29):
            files[f"{name}/p{package}/part_{part}.py"] = module(part, 7)
    files = {path: text.encode() for path, text in files.items()}
    for i in range(20):
        files[f"{name}/lib/part_{i}.so"] = binary(rng, 600_000)
    for i in range(780):
        files[f"{name}/p{i % 40}/data/{i}.json"] = json.dumps(
            [rng.random() for _ in range(40)]).encode()
    return files


def record_line(path, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return f"{path},sha256={digest.decode().rstrip('=')},{len(data)}\n"


def make_wheels(directory, name, files, needs, versions):
    """All versions have the same files, which are packed once."""
    plain = name.replace("-", "_")
    base = f"{directory}/{plain}.base"
    with zipfile.ZipFile(base, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    lines = "".join(record_line(path, data) for path, data in files.items())
    links = []
    for version in range(1, versions + 1):
        info = f"{plain}-{version}.dist-info"
        told = {
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\n"
            f"Version: {version}\n" + "".join(
                f"Requires-Dist: {need}\n" for need in needs),
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: bench\n"
            "Root-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = lines + "".join(
            record_line(path, text.encode()) for path, text in told.items())
        told[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
        file = f"{plain}-{version}-py3-none-any.whl"
        shutil.copyfile(base, f"{directory}/{file}")
        with zipfile.ZipFile(f"{directory}/{file}", "a",
                             zipfile.ZIP_DEFLATED) as wheel:
            for path, text in told.items():
                wheel.writestr(path, text)
        with open(f"{directory}/{file}", "rb") as packed:
            digest = hashlib.file_digest(packed, "sha256").hexdigest()
        links.append(f'<a href="/files/{file}#sha256={digest}">{file}</a>\n')
    os.remove(base)
    return "<!DOCTYPE html>\n<html><body>\n" + "".join(links) + "</body></html>"


def make_tarballs(directory, address, name, files, needs, versions):
    document = {"name": name, "dist-tags": {"latest": str(versions) + ".0.0"},
                "versions": {}}
    for number in range(1, versions + 1):
        about = {"name": name, "version": f"{number}.0.0", "main": "index.js",
                 "dependencies": needs}
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
            for path, data in {"package.json": json.dumps(about).encode(),
                               **files}.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size, entry.mode = len(data), 0o644
                tar.addfile(entry, io.BytesIO(data))
        file = f"{name}-{number}.0.0.tgz"
        with open(f"{directory}/{file}", "wb") as packed:
            packed.write(buffer.getvalue())
        digest = hashlib.sha512(buffer.getvalue()).digest()
        document["versions"][about["version"]] = {
            **about, "dist": {
                "tarball": f"{address}/files/{file}",
                "integrity": "sha512-" + base64.b64encode(digest).decode()}}
    return json.dumps(document)


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pages = {}  # path → (type, text)
    directory = ""

    def do_GET(self):
        path = self.path.split("?")[0]
        if path.startswith("/files/") and "/" not in path[len("/files/"):]:
            try:
                with open(f"{self.directory}/{path[len('/files/'):]}",
                          "rb") as file:
                    return self.answer("application/octet-stream", file.read())
            except FileNotFoundError:
                return self.send_error(404)
        page = self.pages.get(path.rstrip("/"))
        if page is None:
            return self.send_error(404)
        return self.answer(page[0], page[1].encode())

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ManyBytes(socketserver.BaseRequestHandler):
    def handle(self):
        said = self.request.recv(4096)
        if said.startswith(b"GET "):
            while b"\r\n\r\n" not in said:
                said += self.request.recv(4096)
            self.request.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                b"Content-Length: %d\r\n\r\n" % GIB)
        try:
            for _ in range(GIB // len(PIECE)):
                self.request.sendall(PIECE)
        except OSError:
            pass  # the client has ended; it tells why


class Bytes(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    directory, versions = sys.argv[1], int(sys.argv[2])
    files = f"{directory}/files"
    os.makedirs(files)
    server = http.server.ThreadingHTTPServer(("127.0.0.2", 0), Registry)
    many = Bytes(("127.0.0.2", 0), ManyBytes)
    address = f"http://127.0.0.2:{server.server_port}"
    Registry.directory = files
    html, document = "text/html", "application/json"
    script = b"module.exports = function weigh(a, b) { return a + b; };\n" * 110
    Registry.pages = {
        "/simple/bench-small": (html, make_wheels(
            files, "bench-small", small_files("bench_small"), [], versions)),
        "/simple/bench-large": (html, make_wheels(
            files, "bench-large", large_files("bench_large"), ["bench-small"],
            versions)),
        "/bench-npm": (document, make_tarballs(
            files, address, "bench-npm",
            {"index.js": script, **{f"lib/part_{i}.js": script
                                    for i in range(298)}},
            {"bench-npm-small": "*"}, versions)),
        "/bench-npm-small": (document, make_tarballs(
            files, address, "bench-npm-small", {"index.js": script}, {}, 1)),
    }
    threading.Thread(target=many.serve_forever, daemon=True).start()
    with open(f"{directory}/ports.new", "w") as ports:
        ports.write(f"{server.server_port} {many.server_address[1]}\n")
    os.rename(f"{directory}/ports.new", f"{directory}/ports")
    server.serve_forever()


main()
