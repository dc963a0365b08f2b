"""Makes what the package takes from the rest of the project: the stubs in
sandglass/v1 of the daemon's public .proto files, and the version."""

import pathlib
import re
import sys
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class VersionHook(MetadataHookInterface):
    """Gives the package the version of the daemon that it comes with."""

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["version"] = _version(pathlib.Path(self.root))


class StubsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before the package is put together. The tree is only written to for
    `pip install -e`, which runs from there: else it may be somebody else's."""

    _temporary: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "sdist":
            return  # it has the .proto files
        root = pathlib.Path(self.root)
        if version == "editable":
            _make(root, root / "src")
            return
        self._temporary = tempfile.TemporaryDirectory()
        out = pathlib.Path(self._temporary.name)
        _make(root, out)
        for file in [*out.rglob("*_pb2*"), *out.rglob("_version.py")]:
            build_data["force_include"][str(file)] = str(file.relative_to(out))

    def finalize(
        self, version: str, build_data: dict[str, Any], artifact_path: str
    ) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()


def _project(root: pathlib.Path, name: str) -> pathlib.Path:
    """Where the project's file or folder is: in a source archive inside, in a
    clone two folders up."""
    inside = root / name
    return inside if inside.exists() else root.parent.parent / name


def _version(root: pathlib.Path) -> str:
    text = _project(root, "CMakeLists.txt").read_text()
    found = re.search(r"project\(sandglass VERSION (\S+)", text)
    if found is None:
        sys.exit("CMakeLists.txt names no version of the project")
    return found[1]


def _make(root: pathlib.Path, out: pathlib.Path) -> None:
    from grpc_tools import protoc

    package = out / "sandglass"
    package.mkdir(exist_ok=True)
    (package / "_version.py").write_text(f'__version__ = "{_version(root)}"\n')
    protos = _project(root, "proto")
    files = sorted((protos / "sandglass" / "v1").glob("*.proto"))
    if not files:
        sys.exit(f"no .proto files in {protos}/sandglass/v1")
    well_known = pathlib.Path(protoc.__file__).parent / "_proto"
    failed = protoc.main(
        [
            "protoc",
            f"--proto_path={protos}",
            f"--proto_path={well_known}",
            f"--python_out={out}",
            f"--pyi_out={out}",
            f"--grpc_python_out={out}",
            *map(str, files),
        ]
    )
    if failed:
        sys.exit("protoc failed; its words are above")
