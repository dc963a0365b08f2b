"""Makes the stubs in sandglass/v1 of the daemon's public .proto files."""

import pathlib
import sys
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


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
        for file in out.rglob("*_pb2*"):
            build_data["force_include"][str(file)] = str(file.relative_to(out))

    def finalize(
        self, version: str, build_data: dict[str, Any], artifact_path: str
    ) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()


def _make(root: pathlib.Path, out: pathlib.Path) -> None:
    from grpc_tools import protoc

    # In a source archive they are inside; in a clone they are the server's.
    protos = root / "proto"
    if not protos.is_dir():
        protos = root.parent.parent / "proto"
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
