"""Files of a sandbox: what is known of them, and the calls on them."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, cast

from sandglass import _convert
from sandglass._op import Op, Steps

if TYPE_CHECKING:
    from sandglass.v1 import files_pb2

FileType = Literal["regular", "directory", "symlink", "other"]
Content = bytes | str
Source = Content | IO[bytes] | Iterable[bytes]

_CHUNK_BYTES = 256 * 1024
# Of one UploadFiles; what is larger goes by itself.
_BATCH_BYTES = 2 << 20
_BATCH_FILES = 1000


class FileInfo(NamedTuple):
    """`path` is a name in answers of `list`, else the path. `raw_path` is set when
    it is no UTF-8, and can't be asked for then. `size` is in bytes, `mode` the
    permission bits."""

    path: str
    type: FileType
    size: int
    mode: int
    modified: datetime.datetime
    link_target: str = ""
    raw_path: bytes = b""

    @property
    def is_dir(self) -> bool:
        return self.type == "directory"


class GrepMatch(NamedTuple):
    """`line` counts from 1, `column` in bytes from 1, 0 for a line of context."""

    path: str
    line: int
    text: str
    column: int = 0


class Uploaded(NamedTuple):
    """`error` is None when it went well, else for example "is_directory"."""

    path: str
    error: str | None = None
    message: str = ""


class Downloaded(NamedTuple):
    """`content` is None when there is an `error`, for example "file_not_found"."""

    path: str
    content: bytes | None = None
    error: str | None = None
    message: str = ""


class FileChange(NamedTuple):
    """`kind` is created, modified, removed or renamed; paths are relative."""

    kind: str
    info: FileInfo
    old_path: str = ""


# In classes that have a method `list`, their own would be meant.
FileInfos = list[FileInfo]
GrepMatches = list[GrepMatch]
FileChanges = list[FileChange]


def info_of(message: files_pb2.FileInfo) -> FileInfo:
    types: dict[int, FileType] = {1: "regular", 2: "directory", 3: "symlink"}
    return FileInfo(
        path=message.path,
        type=types.get(message.type, "other"),
        size=message.size,
        mode=message.mode,
        modified=_convert.to_datetime(message.modify_time),
        link_target=message.link_target,
        raw_path=message.raw_path,
    )


def error_name(code: int) -> str | None:
    """ "file_not_found" of FILE_ERROR_CODE_FILE_NOT_FOUND; None when it is none."""
    from sandglass.v1 import files_pb2

    if not code:
        return None
    name = files_pb2.FileErrorCode.Name(code)
    return name.removeprefix("FILE_ERROR_CODE_").lower()


def _path(name: str, value: object) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    return _convert.text(name, value)


def read(
    session_id: str, path: str | os.PathLike[str], offset: int, limit: int | None
) -> Op[bytes]:
    from sandglass.v1 import files_pb2

    if limit == 0:
        # The API's 0 means all.
        return Op("file", "StatFile", stat_request(session_id, path), lambda _: b"")
    request = files_pb2.ReadFileRequest(
        session_id=session_id, path=_path("path", path), offset=offset
    )
    request.limit = limit or 0
    return Op("file", "ReadFile", request, _joined, stream=True)


def _joined(messages: list[files_pb2.ReadFileResponse]) -> bytes:
    return b"".join(message.data for message in messages)


def write(
    session_id: str,
    path: str | os.PathLike[str],
    source: Source,
    how: Literal["replace", "create", "append"],
    mode: int | None,
    make_parents: bool,
) -> Op[FileInfo]:
    from sandglass.v1 import files_pb2

    modes = {"replace": 1, "create": 2, "append": 3}
    if how not in modes:
        raise ValueError(f"how must be replace, create or append, not {how!r}")
    start = files_pb2.FileWriteStart(
        session_id=session_id,
        path=_path("path", path),
        write_mode=cast(Any, modes[how]),
        make_parents=make_parents,
    )
    if mode is not None:
        start.mode = mode
    whole = is_whole(source)
    content = Pieces(source)

    def messages() -> Iterator[files_pb2.WriteFileRequest]:
        yield files_pb2.WriteFileRequest(start=start)
        for piece in content:
            yield files_pb2.WriteFileRequest(data=piece)
        yield files_pb2.WriteFileRequest(data=b"", finish=True)

    if whole:
        _convert.content("content", source)
    elif not hasattr(source, "read") and not isinstance(source, Iterable):
        raise _convert.wrong_type("content", "bytes, a str or a binary file", source)
    return Op(
        "file",
        "WriteFile",
        messages,
        lambda answer: info_of(answer.info),
        repeatable=whole and how == "replace",
        spent=lambda: content.spent,
    )


def is_whole(source: object) -> bool:
    """Whether a content can be sent again: a file or an iterator goes on where it
    is."""
    return isinstance(source, str | bytes | bytearray | memoryview)


class Pieces(Iterable[bytes]):
    """The pieces of a content. `spent`: it was read from and can't be again."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.spent = False

    def __iter__(self) -> Iterator[bytes]:
        self.spent = not is_whole(self._source)
        return pieces(self._source)


def pieces(source: Source) -> Iterator[bytes]:
    if isinstance(source, str | bytes | bytearray | memoryview):
        data = _convert.content("content", source)
        for at in range(0, len(data), _CHUNK_BYTES):
            yield data[at : at + _CHUNK_BYTES]
    elif hasattr(source, "read"):
        while piece := source.read(_CHUNK_BYTES):
            yield _convert.content("what the file reads", piece)
    else:
        for piece in source:
            yield from pieces(_convert.content("a piece of content", piece))


def stat_request(
    session_id: str, path: str | os.PathLike[str], follow: bool = True
) -> files_pb2.StatFileRequest:
    from sandglass.v1 import files_pb2

    return files_pb2.StatFileRequest(
        session_id=session_id, path=_path("path", path), no_follow=not follow
    )


def stat(session_id: str, path: str | os.PathLike[str], follow: bool) -> Op[FileInfo]:
    request = stat_request(session_id, path, follow)
    return Op("file", "StatFile", request, lambda answer: info_of(answer.info))


def listing(session_id: str, path: str | os.PathLike[str]) -> Steps[list[FileInfo]]:
    from sandglass.v1 import files_pb2

    request = files_pb2.ListDirectoryRequest(
        session_id=session_id, path=_path("path", path), page_size=10_000
    )
    entries: list[FileInfo] = []
    while True:
        page = yield Op("file", "ListDirectory", request, lambda answer: answer)
        entries += map(info_of, page.entries)
        if not page.next_page_token:
            return entries
        request.page_token = page.next_page_token


def glob(
    session_id: str,
    pattern: str,
    path: str | os.PathLike[str],
    directories: bool,
    hidden: bool,
    limit: int,
) -> Op[tuple[list[FileInfo], bool]]:
    from sandglass.v1 import files_pb2

    request = files_pb2.GlobFilesRequest(
        session_id=session_id,
        pattern=_convert.text("pattern", pattern),
        path=_path("path", path),
        directories=directories,
        hidden=hidden,
        max_matches=limit,
    )
    return Op(
        "file",
        "GlobFiles",
        request,
        lambda answer: (list(map(info_of, answer.entries)), answer.truncated),
    )


def grep(
    session_id: str,
    pattern: str,
    path: str | os.PathLike[str],
    regex: bool,
    ignore_case: bool,
    include: Sequence[str],
    hidden: bool,
    context: tuple[int, int],
    limit: int,
) -> Op[tuple[list[GrepMatch], bool]]:
    from sandglass.v1 import files_pb2

    request = files_pb2.GrepFilesRequest(
        session_id=session_id,
        pattern=_convert.text("pattern", pattern),
        path=_path("path", path),
        regex=regex,
        ignore_case=ignore_case,
        include=_convert.texts("include", include),
        hidden=hidden,
        context_before=context[0],
        context_after=context[1],
        max_matches=limit,
    )
    return Op(
        "file",
        "GrepFiles",
        request,
        lambda answer: (
            [GrepMatch(m.path, m.line, m.text, m.column) for m in answer.lines],
            answer.truncated,
        ),
    )


def edit(
    session_id: str,
    path: str | os.PathLike[str],
    old: Content,
    new: Content,
    replace_all: bool,
) -> Op[int]:
    from sandglass.v1 import files_pb2

    request = files_pb2.EditFileRequest(
        session_id=session_id,
        path=_path("path", path),
        old_text=_convert.content("old", old),
        new_text=_convert.content("new", new),
        replace_all=replace_all,
    )
    return Op(
        "file",
        "EditFile",
        request,
        lambda answer: int(answer.replacements),
        repeatable=False,
    )


def remove(session_id: str, path: str | os.PathLike[str], recursive: bool) -> Op[int]:
    from sandglass.v1 import files_pb2

    request = files_pb2.RemoveFileRequest(
        session_id=session_id, path=_path("path", path), recursive=recursive
    )
    return Op(
        "file",
        "RemoveFile",
        request,
        lambda answer: int(answer.removed),
        repeatable=False,
    )


def move(
    session_id: str,
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    overwrite: bool,
) -> Op[None]:
    from sandglass.v1 import files_pb2

    request = files_pb2.MoveFileRequest(
        session_id=session_id,
        source=_path("source", source),
        destination=_path("destination", destination),
        overwrite=overwrite,
        make_parents=True,
    )
    return Op("file", "MoveFile", request, lambda _: None, repeatable=False)


def make_dir(
    session_id: str, path: str | os.PathLike[str], mode: int | None
) -> Op[None]:
    from sandglass.v1 import files_pb2

    request = files_pb2.MakeDirectoryRequest(
        session_id=session_id, path=_path("path", path), make_parents=True
    )
    if mode is not None:
        request.mode = mode
    return Op("file", "MakeDirectory", request, lambda _: None)


def upload(
    session_id: str, files: Mapping[str, Content] | Iterable[tuple[str, Content]]
) -> Steps[list[Uploaded]]:
    from sandglass._errors import FileError
    from sandglass.v1 import files_pb2

    pairs = _convert.files("files", files)
    done: list[Uploaded] = []
    at = 0
    while at < len(pairs):
        request = files_pb2.UploadFilesRequest(session_id=session_id)
        size = 0
        for path, data in pairs[at : at + _BATCH_FILES]:
            size += len(data) + len(path)
            if size > _BATCH_BYTES:
                break
            request.files.add(path=path, content=data)
        at += len(request.files)
        if request.files:
            answer = yield Op("file", "UploadFiles", request, lambda answer: answer)
            for file in answer.files:
                done.append(Uploaded(file.path, error_name(file.error), file.message))
            continue
        path, data = pairs[at]
        at += 1
        try:
            yield write(session_id, path, data, "replace", None, True)
            done.append(Uploaded(path))
        except FileError as error:
            done.append(Uploaded(path, error.file_code, error.message))
    return done


def download(
    session_id: str, paths: Sequence[str | os.PathLike[str]]
) -> Steps[list[Downloaded]]:
    from sandglass._errors import FileError
    from sandglass.v1 import files_pb2

    if isinstance(paths, str | bytes):
        raise _convert.wrong_type("paths", "a list of paths", paths)
    names = [_path(f"paths[{i}]", path) for i, path in enumerate(paths)]
    done: list[Downloaded] = []
    while len(done) < len(names):
        batch = names[len(done) : len(done) + _BATCH_FILES]
        request = files_pb2.DownloadFilesRequest(session_id=session_id, paths=batch)
        answer = yield Op("file", "DownloadFiles", request, lambda answer: answer)
        for file in answer.files:
            error = error_name(file.error)
            if error == "too_large":  # for one answer
                try:
                    content = yield read(session_id, file.path, 0, None)
                    done.append(Downloaded(file.path, content))
                except FileError as why:
                    done.append(Downloaded(file.path, None, why.file_code, why.message))
                continue
            content = file.content if error is None else None
            done.append(Downloaded(file.path, content, error, file.message))
    return done


def change_of(message: files_pb2.FileChange) -> FileChange:
    kinds = {1: "created", 2: "modified", 3: "removed", 4: "renamed"}
    kind = kinds.get(message.type, "modified")
    return FileChange(kind, info_of(message.info), message.old_path)


def watch_request(
    session_id: str, path: str | os.PathLike[str], interval: _convert.Seconds | None
) -> files_pb2.WatchFilesRequest:
    from sandglass.v1 import files_pb2

    request = files_pb2.WatchFilesRequest(
        session_id=session_id, path=_path("path", path)
    )
    if interval is not None:
        _convert.set_duration(request.interval, "interval", interval)
    return request


def changes_of(message: files_pb2.WatchFilesResponse) -> list[FileChange]:
    return list(map(change_of, message.changes))


def snapshot_request(
    session_id: str, path: str | os.PathLike[str]
) -> files_pb2.SnapshotFilesRequest:
    from sandglass.v1 import files_pb2

    return files_pb2.SnapshotFilesRequest(
        session_id=session_id, path=_path("path", path)
    )


def restore(
    session_id: str, archive: Source, path: str | os.PathLike[str], replace: bool
) -> Op[int]:
    from sandglass.v1 import files_pb2

    start = files_pb2.RestoreFilesStart(
        session_id=session_id, path=_path("path", path), replace=replace
    )

    content = Pieces(archive)

    def messages() -> Iterator[files_pb2.RestoreFilesRequest]:
        yield files_pb2.RestoreFilesRequest(start=start)
        for piece in content:
            yield files_pb2.RestoreFilesRequest(data=piece)

    return Op(
        "file",
        "RestoreFiles",
        messages,
        lambda answer: int(answer.files),
        repeatable=False,
        spent=lambda: content.spent,
    )
