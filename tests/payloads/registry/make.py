"""Makes package registries as static files: make.py DIRECTORY.

Below DIRECTORY are python/ (the simple index of PEP 503), npm/, go/ (the
protocol of GOPROXY) and java/ (a Maven repository); gems.rb makes ruby/. In
each a package "sample" needs one that is called "helper". Python has more, which
do harm while they are set up.
"""
import base64
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile

ROOT = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))


def write(path, data):
    path = os.path.join(ROOT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            data = data if isinstance(data, bytes) else data.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


# Python.
python_files = {}  # of each package


def python_file(package, name, data):
    write(f"python/files/{name}", data)
    digest = hashlib.sha256(data).hexdigest()
    python_files.setdefault(package, []).append(
        f'<a href="../../files/{name}#sha256={digest}">{name}</a><br>')


def wheel(package, version, code, requires=(), extra_files=None):
    module = package.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
    for requirement in requires:
        metadata += f"Requires-Dist: {requirement}\n"
        if "extra ==" in requirement:
            metadata += "Provides-Extra: more\n"
    files = {
        f"{module}/__init__.py": code,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\n"
                         "Root-Is-Purelib: true\nTag: py3-none-any\n",
        **(extra_files or {}),
    }
    record = "".join(f"{name},,\n" for name in files) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = record
    python_file(package, f"{module}-{version}-py3-none-any.whl", zipped(files))


def sdist(package, setup, files=None):
    """One that is built by what it brings along; `setup` runs meanwhile."""
    module = package.replace("-", "_")
    backend = f"""
import os, zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    module = {module!r}
{"".join("    " + line + chr(10) for line in setup.splitlines())}
    name = module + "-1.0-py3-none-any.whl"
    info = module + "-1.0.dist-info/"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.writestr(module + ".py", "version = '1.0'\\n")
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: {package}\\nVersion: 1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", module + ".py,,\\n")
    return name
"""
    top = f"{package}-1.0"
    python_file(package, f"{top}.tar.gz", tarred({
        f"{top}/PKG-INFO": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n",
        f"{top}/pyproject.toml": "[build-system]\nrequires = []\n"
                                 "build-backend = 'backend'\nbackend-path = ['.']\n",
        f"{top}/backend.py": backend,
        **(files or {}),
    }))


def make_python():
    wheel("helper", "1.0", "version = '1.0'\n")
    wheel("part", "1.0", "version = '1.0'\n")
    for version in ("1.0", "2.0"):
        wheel("sample", version, f"version = {version!r}\n",
              ["helper>=1.0", 'part; extra == "more"'])
    wheel("needs-missing", "1.0", "", ["not-there>=1"])
    wheel("big", "1.0", "", extra_files={"big/data.bin": os.urandom(6 << 20)})
    # Installs ask for each of them once more than anything else does.
    for name in ("slow", "cut", "late", "one", "two", "left"):
        wheel(name, "1.0", "version = '1.0'\n")
    sdist("built", "")
    sdist("forks", "while True:\n    os.fork()")
    sdist("calls", """
import socket, sys, urllib.request
try:
    print(urllib.request.urlopen("http://elsewhere.test.org/x", timeout=20).read())
except Exception as error:
    sys.exit("elsewhere: %s" % error)
""")
    sdist("writes", """
import glob
for place in ["/opt", "/opt/libraries", "/usr/lib/python3/dist-packages",
              "/usr/local/lib", "/etc", os.path.expanduser("~"), "/tmp",
              "/dev/shm", "/workspace", "/var/tmp"]:
    try:
        with open(place + "/left_behind.py", "w") as file:
            file.write("version = 'left'")
    except OSError:
        pass
""")
    sdist("links", """
os.symlink("/etc/passwd", "/workspace/layer/leads_out")
""")
    for package, links in python_files.items():
        write(f"python/simple/{package}/index.html",
              "<!DOCTYPE html><html><body>" + "".join(links) + "</body></html>")


# JavaScript.
def npm_package(url, name, versions):
    packument = {"name": name, "dist-tags": {"latest": versions[-1]["version"]},
                 "versions": {}}
    for version in versions:
        files = version.pop("files")
        manifest = {"name": name, **version}
        data = tarred({"package/package.json": json.dumps(manifest),
                       **{f"package/{file}": text for file, text in files.items()}})
        path = f"{name}/-/{name.split('/')[-1]}-{version['version']}.tgz"
        write(f"npm/{path}", data)
        packument["versions"][version["version"]] = {**manifest, "dist": {
            "tarball": f"{url}/npm/{path}",
            "shasum": hashlib.sha1(data).hexdigest(),
            "integrity": "sha512-" + base64.b64encode(
                hashlib.sha512(data).digest()).decode()}}
    write(f"npm/{name}/index.html", json.dumps(packument))


def make_npm(url):
    npm_package(url, "helper", [
        {"version": "1.0.0", "files": {"index.js": "exports.version = '1.0.0';"}}])
    npm_package(url, "sample", [
        {"version": version, "dependencies": {"helper": "^1.0.0"},
         "files": {"index.js": f"require('helper'); exports.version = '{version}';"}}
        for version in ("1.0.0", "2.0.0")])
    npm_package(url, "@scope/part", [
        {"version": "1.0.0", "files": {"index.js": "exports.version = '1.0.0';"}}])
    npm_package(url, "scripted", [
        {"version": "1.0.0", "scripts": {"install": "node install.js"},
         "hasInstallScript": True,
         "files": {"index.js": "exports.version = require('fs')"
                               ".readFileSync(__dirname + '/made.txt', 'utf8');",
                   "install.js": "require('fs').writeFileSync('made.txt', '1.0.0');"}}])


# Go.
def go_module(module, version, code, requires=()):
    mod = f"module {module}\n\ngo 1.19\n"
    for required in requires:
        mod += f"\nrequire {required}\n"
    top = f"{module}@{version}"
    base = f"go/{module}/@v"
    write(f"{base}/list", f"{version}\n")
    write(f"{base}/{version}.info",
          json.dumps({"Version": version, "Time": "2020-01-01T00:00:00Z"}))
    write(f"{base}/{version}.mod", mod)
    write(f"{base}/{version}.zip",
          zipped({f"{top}/go.mod": mod, f"{top}/code.go": code}))


def make_go():
    go_module("example.test/helper", "v1.0.0",
              'package helper\n\nconst Version = "v1.0.0"\n')
    go_module("example.test/part", "v1.0.0",
              'package part\n\nconst Version = "v1.0.0"\n')
    go_module("example.test/sample", "v1.0.0",
              'package sample\n\nimport "example.test/helper"\n\n'
              "func Version() string { return helper.Version }\n",
              ["example.test/helper v1.0.0"])


# Java.
def maven_artifact(place, group, name, version, jar, needs=()):
    base = f"java/{group.replace('.', '/')}/{name}/{version}/{name}-{version}"
    dependencies = "".join(
        f"<dependency><groupId>{each[0]}</groupId><artifactId>{each[1]}"
        f"</artifactId><version>{each[2]}</version></dependency>" for each in needs)
    pom = ('<project xmlns="http://maven.apache.org/POM/4.0.0">'
           f"<modelVersion>4.0.0</modelVersion><groupId>{group}</groupId>"
           f"<artifactId>{name}</artifactId><version>{version}</version>"
           f"<dependencies>{dependencies}</dependencies></project>")
    for ending, data in (("pom", pom.encode()), ("jar", jar)):
        write(f"{base}.{ending}", data)
        write(f"{base}.{ending}.sha1", hashlib.sha1(data).hexdigest())


def make_java():
    place = os.path.join(ROOT, "work")
    sources = {
        "Helper": 'package test.helper;\npublic class Helper {\n'
                  '  public static String version() { return "1.0"; }\n}\n',
        "Sample": "package test.sample;\npublic class Sample {\n  public static "
                  "String version() { return test.helper.Helper.version(); }\n}\n",
        "Part": 'package test.part;\npublic class Part {\n'
                '  public static String version() { return "1.0"; }\n}\n',
    }
    for name, text in sources.items():
        write(f"work/{name}.java", text)
    subprocess.run(["javac", "-d", place] +
                   [f"{place}/{name}.java" for name in sources], check=True)
    jars = {}
    for name in sources:
        path = f"test/{name.lower()}/{name}.class"
        with open(os.path.join(place, path), "rb") as file:
            jars[name] = zipped({path: file.read()})
    maven_artifact(place, "test.example", "helper", "1.0", jars["Helper"])
    maven_artifact(place, "test.example", "part", "1.0", jars["Part"])
    maven_artifact(place, "test.example", "sample", "1.0", jars["Sample"],
                   [("test.example", "helper", "1.0")])


make_python()
make_npm(sys.argv[2])
make_go()
make_java()
subprocess.run(["/usr/bin/ruby", os.path.join(HERE, "gems.rb"),
                os.path.join(ROOT, "ruby")], check=True)
