"""Makes the stubs in src/sandglass/v1 of the daemon's public .proto files."""

import pathlib
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StubsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before the package is put together, also for `pip install -e`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        from grpc_tools import protoc

        root = pathlib.Path(self.root)
        # In a source archive they are inside; in a clone they are the server's.
        protos = root / "proto"
        if not protos.is_dir():
            protos = root.parent.parent / "proto"
        files = sorted((protos / "sandglass" / "v1").glob("*.proto"))
        if not files:
            sys.exit(f"no .proto files in {protos}/sandglass/v1")
        well_known = pathlib.Path(protoc.__file__).parent / "_proto"
        out = root / "src"
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
