"""What deepagents' file methods are in our calls: steps that are made by the
synchronous and the asynchronous backend alike. They never raise: each result of
deepagents has a place for its error."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Sequence
from typing import Any

from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import _get_backend_read_file_type

from sandglass import _deep_glob, _errors, _files
from sandglass._op import Steps

Id = Steps[str]
"""Tells the session's id, and may make the session for that."""

_PAGE_BYTES = 500 * 1024
_BINARY_BYTES = 500 * 1024
_BLOCK_BYTES = 1 << 20
_MOST_MATCHES = 10_000
_EMPTY = "System reminder: File exists but has empty contents"
_CUT = (
    "\n\n[This page ends here, at 500 KiB. Read on with a larger offset, or with a "
    "smaller limit.]"
)
# What is told in results: also text that UTF-8 can't carry, which models do write.
_TOLD = (_errors.SandglassError, ValueError)
# deepagents' own names; the other errors are told in words.
_CODES = {
    "file_not_found": "file_not_found",
    "not_directory": "file_not_found",
    "permission_denied": "permission_denied",
    "is_directory": "is_directory",
    "invalid_path": "invalid_path",
}

# Where deepagents keeps long results and old conversations, unless it is told
# otherwise. Nobody may write to a jail's root, so they are in here, and commands
# find them there.
ARTIFACTS = "/workspace/.deepagents"
_AT_THE_ROOT = ("/large_tool_results", "/conversation_history", "/blobs")


def _real(path: str) -> str:
    """Where what deepagents calls `path` is."""
    ours = any(path == top or path.startswith(f"{top}/") for top in _AT_THE_ROOT)
    return ARTIFACTS + path if ours else path


def _shown(path: str, asked: str) -> str:
    """The name of what was found for a question about `asked`."""
    return path.removeprefix(ARTIFACTS) if _real(asked) != asked else path


def _is_ours(path: str, asked: str) -> bool:
    """An artifact that a search elsewhere came upon."""
    return path.startswith(f"{ARTIFACTS}/") and not _real(asked).startswith(ARTIFACTS)


def _newer(kind: Any, **fields: Any) -> dict[str, Any]:
    """Those of `fields` that the installed deepagents has: deepagents-code keeps to
    an older one."""
    return {k: v for k, v in fields.items() if k in kind.__dataclass_fields__}


def _rooted(path: str | None) -> str:
    """Where to look. Rules that deny paths know absolute ones alone."""
    if not path:
        return "/workspace"
    return path if path.startswith("/") else f"/workspace/{path}"


def _words(path: str, error: Exception) -> str:
    if not isinstance(error, _errors.FileError):
        return str(error)
    if error.file_code in ("file_not_found", "not_directory"):
        return f"File '{path}' not found"
    if error.file_code == "is_directory":
        return f"'{path}' is a directory"
    return f"'{path}': {error.message}"


def ls(session: Id, path: str) -> Steps[LsResult]:
    path = _rooted(path)
    try:
        session_id = yield from session
        found = yield from _files.listing(session_id, _real(path))
        entries: list[FileInfo] = []
        for info in found:
            name = info.path if info.path.startswith("/") else _join(path, info.path)
            if info.type == "symlink":
                info = yield from _followed(session_id, _real(name), info)
            entries.append(_entry(name, info))
    except _TOLD as error:
        return LsResult(error=_words(path, error))
    return LsResult(entries=entries)


def _followed(
    session_id: str, path: str, info: _files.FileInfo
) -> Steps[_files.FileInfo]:
    try:
        followed: _files.FileInfo = yield _files.stat(session_id, path, True)
    except _errors.FileError:
        return info  # it leads nowhere
    return followed


def _join(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"


def _entry(path: str, info: _files.FileInfo) -> FileInfo:
    modified = info.modified.astimezone(datetime.UTC).isoformat()
    return {
        "path": path,
        "is_dir": info.is_dir,
        "size": info.size,
        "modified_at": modified,
    }


def read(session: Id, path: str, offset: int, limit: int) -> Steps[ReadResult]:
    real = _real(path)
    try:
        session_id = yield from session
        info = yield _files.stat(session_id, real, True)
        if info.is_dir:
            return ReadResult(error=f"'{path}' is a directory")
        if info.type != "regular":
            return ReadResult(error=f"'{path}' is no regular file")
        if info.size == 0:
            # Files of /proc say so too, and can't be read.
            yield _files.read(session_id, real, 0, 1)
            return ReadResult(file_data=_text(_EMPTY))
        if _get_backend_read_file_type(path) != "text":
            return (yield from _read_binary(session_id, path, info.size))
        page = _Page(max(int(offset), 0), max(int(limit), 0))
        at = 0
        while at < info.size and not page.full:
            block = yield _files.read(session_id, real, at, _BLOCK_BYTES)
            if not block:
                break  # it became shorter meanwhile
            if at == 0 and not _is_text(block):
                return (yield from _read_binary(session_id, path, info.size))
            if page.limit == 0:
                none = _newer(ReadResult, no_lines_requested=True)
                return ReadResult(file_data=_text(""), **none)
            at += len(block)
            page.add(block, last=at >= info.size)
    except _TOLD as error:
        return ReadResult(error=_words(path, error))
    return page.result(path, at_end=at >= info.size)


def _read_binary(session_id: str, path: str, size: int) -> Steps[ReadResult]:
    if size > _BINARY_BYTES:
        return ReadResult(
            error=f"File '{path}': Binary file exceeds maximum preview size of "
            f"{_BINARY_BYTES} bytes"
        )
    content = yield _files.read(session_id, _real(path), 0, None)
    encoded = base64.b64encode(content).decode()
    return ReadResult(file_data=FileData(content=encoded, encoding="base64"))


def _text(content: str) -> FileData:
    return FileData(content=content, encoding="utf-8")


def _is_text(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        # A character may go on in the next block.
        return error.end == len(block) and len(block) - error.start < 4
    return True


class _Page:
    """Takes the lines from `offset` on out of a file that comes in blocks."""

    def __init__(self, offset: int, limit: int) -> None:
        self.offset = offset
        self.limit = limit
        self.full = False
        self._lines: list[bytes] = []
        self._bytes = 0
        self._seen = 0  # lines that ended
        self._rest = b""
        self._cut = False

    def add(self, block: bytes, *, last: bool) -> None:
        lines = (self._rest + block).split(b"\n")
        self._rest = lines.pop()
        if last and self._rest:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._take(line.removesuffix(b"\r"))
        # Of a line without an end only a page's worth can ever be shown.
        if not self.full and len(self._rest) > _PAGE_BYTES and self._wanted():
            self._take(self._rest)

    def _wanted(self) -> bool:
        return self._seen >= self.offset

    def _take(self, line: bytes) -> None:
        if not self.full and self._wanted():
            if self._bytes + len(line) + 1 > _PAGE_BYTES:
                room = _PAGE_BYTES - self._bytes - 1
                self._lines.append(line[: max(room, 0)])
                self._cut = self.full = True
                return
            self._lines.append(line)
            self._bytes += len(line) + 1
            self.full = len(self._lines) >= self.limit
        self._seen += 1

    def result(self, path: str, *, at_end: bool) -> ReadResult:
        if not self._lines:
            return ReadResult(
                error=f"'{path}' has {self._seen} lines; there is none at offset "
                f"{self.offset}"
            )
        text = b"\n".join(self._lines).decode(errors="replace")
        if self._cut:
            text = text.rstrip("\ufffd") + _CUT
        # The line that was cut is read again, unless it is all there is here.
        whole = len(self._lines) - (1 if self._cut and len(self._lines) > 1 else 0)
        end = self.offset + whole
        # Lines are counted to the end of what was read.
        total = self._seen if at_end and not self._cut else None
        more = end < total if total is not None else True
        return ReadResult(
            file_data=_text(text),
            total_lines=total,
            start_line=self.offset + 1,
            end_line=end,
            next_offset=end if more else None,
        )


def write(session: Id, path: str, content: str) -> Steps[WriteResult]:
    try:
        session_id = yield from session
        yield _files.write(session_id, _real(path), content, "replace", None, True)
    except _TOLD as error:
        return WriteResult(error=_words(path, error))
    return WriteResult(path=path)


def edit(
    session: Id, path: str, old: str, new: str, replace_all: bool
) -> Steps[EditResult]:
    if not old:
        return EditResult(error="The text to replace is empty")
    try:
        session_id = yield from session
        for one_old, one_new in _line_ends(old, new):
            try:
                replaced = yield _files.edit(
                    session_id, _real(path), one_old, one_new, replace_all
                )
            except _errors.FileError as error:
                if error.file_code != "no_match":
                    raise
            else:
                return EditResult(path=path, occurrences=replaced)
    except _errors.FileError as error:
        if error.file_code == "multiple":
            return EditResult(
                error=f"String {old[:200]!r} appears multiple times in '{path}'. "
                "Give more of its surroundings, or set replace_all."
            )
        return EditResult(error=_words(path, error))
    except _TOLD as error:
        return EditResult(error=_words(path, error))
    return EditResult(error=f"String not found in '{path}': {old[:200]!r}")


def _line_ends(old: str, new: str) -> list[tuple[str, str]]:
    """As it was said, and as it is in a file whose lines end otherwise: `read` shows
    all ends as \\n, so nobody can know."""
    ways = [(old, new)]
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    ways.append((old.replace("\n", "\r\n"), new.replace("\n", "\r\n")))
    ways.append((old, new))
    return [way for i, way in enumerate(ways) if way[0] not in dict(ways[:i])]


def delete(session: Id, path: str) -> Steps[DeleteResult]:
    try:
        session_id = yield from session
        yield _files.remove(session_id, _real(path), True)
    except _TOLD as error:
        return DeleteResult(error=_words(path, error))
    return DeleteResult(path=path)


def grep(
    session: Id, pattern: str, path: str | None, glob: str | None, most: int | None
) -> Steps[GrepResult]:
    asked = _rooted(path)
    root = _real(asked)
    wanted = _MOST_MATCHES if most is None else min(max(most, 0), _MOST_MATCHES)
    try:
        session_id = yield from session
        limit = max(wanted, 1)
        while True:
            found, truncated = yield _files.grep(
                session_id,
                pattern,
                root,
                regex=False,
                ignore_case=False,
                include=[_deep_glob.anchored(glob, root)] if glob else [],
                hidden=True,
                context=(0, 0),
                limit=limit,
            )
            shown = [match for match in found if _is_meant(match.path, asked)]
            # Those that nobody meant shall take no place of others.
            full = truncated and len(found) >= limit
            if not full or len(shown) >= wanted or limit == _MOST_MATCHES:
                break
            limit = _MOST_MATCHES
    except _TOLD as error:
        return GrepResult(error=_words(asked, error))
    matches: list[GrepMatch] = [
        {"path": _shown(match.path, asked), "line": match.line, "text": match.text}
        for match in shown[:wanted]
    ]
    return GrepResult(matches=matches, truncated=truncated or len(shown) > wanted)


def _is_meant(path: str, asked: str) -> bool:
    # Packed objects of git, unless one names the directory.
    return ("/.git/" not in path or "/.git" in asked) and not _is_ours(path, asked)


def glob(session: Id, pattern: str, path: str | None) -> Steps[GlobResult]:
    asked = _rooted(path)
    root = _real(asked)
    try:
        session_id = yield from session
        candidates = _deep_glob.expand(pattern)
        found, truncated = yield _files.glob(
            session_id,
            _deep_glob.anchored(pattern, root),
            root,
            directories=False,
            hidden=True,
            limit=_MOST_MATCHES,
        )
    except _TOLD as error:
        return GlobResult(error=_words(asked, error))
    matches = [
        _entry(_shown(info.path, asked), info)
        for info in found
        if _deep_glob.shows(info.path, root, candidates)
        if not _is_ours(info.path, asked)
    ]
    why = _newer(GlobResult, truncation_reason="budget" if truncated else None)
    return GlobResult(matches=matches, truncated=truncated, **why)


def upload(
    session: Id, files: Sequence[tuple[str, bytes]]
) -> Steps[list[FileUploadResponse]]:
    good = [(_real(path), data) for path, data in files if _is_path(path)]
    try:
        session_id = yield from session
        done = iter((yield from _files.upload(session_id, good)))
    except _errors.SandglassError as error:
        return [FileUploadResponse(path=path, error=str(error)) for path, _ in files]
    answers = []
    for path, _ in files:
        if not _is_path(path):
            answers.append(FileUploadResponse(path=path, error="invalid_path"))
            continue
        one = next(done)
        answers.append(FileUploadResponse(path=path, error=_code(one)))
    return answers


def download(session: Id, paths: Sequence[str]) -> Steps[list[FileDownloadResponse]]:
    good = [_real(path) for path in paths if _is_path(path)]
    try:
        session_id = yield from session
        done = iter((yield from _files.download(session_id, good)))
    except _errors.SandglassError as error:
        return [FileDownloadResponse(path=path, error=str(error)) for path in paths]
    answers = []
    for path in paths:
        if not _is_path(path):
            answers.append(FileDownloadResponse(path=path, error="invalid_path"))
            continue
        one = next(done)
        answers.append(
            FileDownloadResponse(path=path, content=one.content, error=_code(one))
        )
    return answers


def _is_path(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return path.startswith("/")


def _code(one: _files.Uploaded | _files.Downloaded) -> str | None:
    if one.error is None:
        return None
    return _CODES.get(one.error, one.message or one.error)
