"""Files of a sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import grpc

from sandglass import _errors, _files
from sandglass._convert import Seconds
from sandglass._files import (
    Content,
    Downloaded,
    FileChanges,
    FileInfo,
    FileInfos,
    GrepMatches,
    Source,
    Uploaded,
)
from sandglass._sync import Connection

Path = str | os.PathLike[str]


class Files:
    """The files of a sandbox, with just the rights that its code has. Paths are
    absolute, or relative to /workspace. Operations that fail raise `FileError`."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        self._connection = connection
        self._id = session_id

    def read(self, path: Path, offset: int = 0, limit: int | None = None) -> bytes:
        """The file's bytes, from `offset`, at most `limit`."""
        return self._connection.call(_files.read(self._id, path, offset, limit))

    def read_text(self, path: Path) -> str:
        """The file as UTF-8; UnicodeDecodeError when it is none."""
        return self.read(path).decode()

    def write(
        self,
        path: Path,
        content: Source,
        *,
        how: Literal["replace", "create", "append"] = "replace",
        mode: int | None = None,
        make_parents: bool = True,
    ) -> FileInfo:
        """Writes bytes, text, a binary file or pieces of bytes. Nobody sees the
        file before it is whole. "create" fails when there is one."""
        return self._connection.call(
            _files.write(self._id, path, content, how, mode, make_parents)
        )

    def upload(
        self, files: Mapping[str, Content] | Iterable[tuple[str, Content]]
    ) -> list[Uploaded]:
        """Writes many files; one result each, in order, which has the error of one
        that failed."""
        return self._connection.drive(_files.upload(self._id, files))

    def download(self, paths: Sequence[Path]) -> list[Downloaded]:
        """Reads many files; one result each, in order."""
        return self._connection.drive(_files.download(self._id, paths))

    def list(self, path: Path = "") -> FileInfos:
        """What is in a directory, by name."""
        return self._connection.drive(_files.listing(self._id, path))

    def stat(self, path: Path, *, follow: bool = True) -> FileInfo:
        return self._connection.call(_files.stat(self._id, path, follow))

    def exists(self, path: Path) -> bool:
        """Whether it is there and may be looked at."""
        try:
            self.stat(path)
        except _errors.FileError as error:
            if error.file_code in ("file_not_found", "not_directory"):
                return False
            raise
        return True

    def remove(self, path: Path, *, recursive: bool = False) -> int:
        """How many names are gone."""
        return self._connection.call(_files.remove(self._id, path, recursive))

    def move(self, source: Path, destination: Path, *, overwrite: bool = False) -> None:
        self._connection.call(_files.move(self._id, source, destination, overwrite))

    def make_dir(self, path: Path, *, mode: int | None = None) -> None:
        """Also those on the way; one that is there will do."""
        self._connection.call(_files.make_dir(self._id, path, mode))

    def edit(
        self, path: Path, old: Content, new: Content, *, replace_all: bool = False
    ) -> int:
        """Replaces a text that is there once, or all of them: how many."""
        return self._connection.call(_files.edit(self._id, path, old, new, replace_all))

    def glob(
        self,
        pattern: str,
        path: Path = "",
        *,
        directories: bool = False,
        hidden: bool = False,
        limit: int = 0,
    ) -> FileInfos:
        """Regular files whose paths match, with absolute paths. Has * ? [] ** and
        {a,b}; without a slash it is about names at any depth. `limit` 0 is 1000."""
        op = _files.glob(self._id, pattern, path, directories, hidden, limit)
        return self._connection.call(op)[0]

    def grep(
        self,
        pattern: str,
        path: Path = "",
        *,
        regex: bool = False,
        ignore_case: bool = False,
        include: Sequence[str] = (),
        hidden: bool = False,
        context: tuple[int, int] = (0, 0),
        limit: int = 0,
    ) -> GrepMatches:
        """Lines that hold the text, or match the regular expression (RE2's)."""
        op = _files.grep(
            self._id,
            pattern,
            path,
            regex,
            ignore_case,
            include,
            hidden,
            context,
            limit,
        )
        return self._connection.call(op)[0]

    def watch(
        self, path: Path = "", *, interval: Seconds | None = None
    ) -> Iterator[FileChanges]:
        """Changes below a directory, as they are seen: a list for each look that
        finds some, an empty one first, when the watch has begun. Close it, or leave
        its loop, to end it."""
        request = _files.watch_request(self._id, path, interval)
        return self._stream("WatchFiles", request, _files.changes_of)

    def snapshot(self, path: Path = "") -> Iterator[bytes]:
        """A directory with all that is in it, as the pieces of a tar archive."""
        request = _files.snapshot_request(self._id, path)
        return self._stream("SnapshotFiles", request, lambda answer: answer.data)

    def restore(
        self, archive: Source, path: Path = "", *, replace: bool = False
    ) -> int:
        """Unpacks a tar archive, after removing what is there with `replace`: how
        many entries."""
        return self._connection.call(_files.restore(self._id, archive, path, replace))

    def _stream(self, method: str, request: Any, convert: Any) -> Iterator[Any]:
        call = None
        try:
            call = getattr(self._connection.stubs().file, method)(request)
            for answer in call:
                yield convert(answer)
        except grpc.RpcError as broken:
            raise _errors.from_rpc(broken, self._connection.endpoint) from None
        finally:
            if call is not None:
                call.cancel()
