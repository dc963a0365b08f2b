"""Writes a tiny package for each package manager below a directory, laid out as
their registries serve it: `make_registry.py DIRECTORY`. Where a text has @BASE@
the server puts its own address."""

import base64
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(sys.argv[1])


def write(path, data):
    """Below the directory, with the directories that it needs."""
    file = ROOT / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode() if isinstance(data, str) else data)


def zipped(files):
    """A zip file of these, by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def python():
    """PEP 503's index, and a wheel."""
    info = "tiny_py-1.0.dist-info"
    files = {
        "tiny_py.py": "WORDS = 'tiny python'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny-py\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in files) + f"{info}/RECORD,,\n"
    wheel = "tiny_py-1.0-py3-none-any.whl"
    write(f"wheels/{wheel}", zipped({**files, f"{info}/RECORD": record}))
    write("simple/tiny-py/index.html",
          f'<!DOCTYPE html><a href="/wheels/{wheel}">{wheel}</a>')


def javascript():
    """A packument and its archive."""
    package = {"name": "tiny-js", "version": "1.0.0", "main": "index.js"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps(package)),
                           ("index.js", "module.exports = 'tiny javascript';\n")):
            member = tarfile.TarInfo("package/" + name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    data = out.getvalue()
    write("npm/tiny-js-1.0.0.tgz", data)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    write("npm/tiny-js/index.html", json.dumps({
        "name": "tiny-js",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {**package, "dist": {
            "tarball": "@BASE@/npm/tiny-js-1.0.0.tgz", "integrity": integrity}}},
    }))


def go():
    """What GOPROXY is asked for."""
    module, version = "tiny.test.org/go", "v1.0.0"
    mod = f"module {module}\n\ngo 1.19\n"
    base = f"go/{module}/@v/{version}"
    write(f"{base}.info",
          json.dumps({"Version": version, "Time": "2020-01-01T00:00:00Z"}))
    write(f"{base}.mod", mod)
    write(f"{base}.zip", zipped({
        f"{module}@{version}/go.mod": mod,
        f"{module}@{version}/tiny.go": 'package tiny\n\nconst Words = "tiny go"\n',
    }))


# What `gem generate_index` did until RubyGems 3.5.
GEM_INDEX = """
require "rubygems/package"
require "zlib"
spec = Gem::Package.new("tiny_rb-1.0.gem").spec
all = [[spec.name, spec.version, spec.platform]]
{"specs" => all, "latest_specs" => all, "prerelease_specs" => []}.each do |name, list|
  File.binwrite("../#{name}.4.8.gz", Gem::Util.gzip(Marshal.dump(list)))
end
File.binwrite("../quick/Marshal.4.8/tiny_rb-1.0.gemspec.rz",
              Gem.deflate(Marshal.dump(spec)))
"""


def ruby():
    """A gem and the index of all of them."""
    write("gems/tiny_rb.rb", "WORDS = 'tiny ruby'\n")
    write("gems/tiny_rb.gemspec", """Gem::Specification.new do |gem|
  gem.name = "tiny_rb"
  gem.version = "1.0"
  gem.summary = "tiny"
  gem.authors = ["test"]
  gem.files = ["tiny_rb.rb"]
  gem.require_paths = ["."]
end
""")
    (ROOT / "quick/Marshal.4.8").mkdir(parents=True)
    for command in (["gem", "build", "--quiet", "tiny_rb.gemspec"],
                    ["ruby", "-e", GEM_INDEX]):
        subprocess.run(command, cwd=ROOT / "gems", check=True,
                       stdout=subprocess.DEVNULL)


def maven():
    """A POM that others have as their parent, and a build extension."""
    jar = zipped({"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\n"})

    def artifact(group, name, version, files):
        for ending, data in files.items():
            path = (f"maven/{group.replace('.', '/')}/{name}/{version}/"
                    f"{name}-{version}.{ending}")
            write(path, data)
            write(f"{path}.sha1", hashlib.sha1((ROOT / path).read_bytes()).hexdigest())

    def pom(name, packaging):
        return f"""<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.test.tiny</groupId>
  <artifactId>{name}</artifactId>
  <version>1.0</version>
  <packaging>{packaging}</packaging>
</project>
"""

    artifact("org.test.tiny", "parent", "1.0", {"pom": pom("parent", "pom")})
    artifact("org.test.tiny", "extension", "1.0",
             {"pom": pom("extension", "jar"), "jar": jar})
    # Maven has every extension depend on this one.
    artifact("org.codehaus.plexus", "plexus-utils", "1.1", {"jar": jar})


for each in (python, javascript, go, ruby, maven):
    each()
