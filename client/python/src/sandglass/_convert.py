"""Python values to and from messages, with words for what is wrong."""

from __future__ import annotations

import codecs
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from google.protobuf import duration_pb2, timestamp_pb2

    from sandglass.v1 import limits_pb2

Seconds = float | datetime.timedelta


class Limits(TypedDict, total=False):
    """Ceilings of a run. Each may only tighten the profile's. Times are seconds,
    sizes bytes; docs/configuration.md says what each bounds."""

    wall_time: Seconds
    cpu_time: Seconds
    memory_bytes: int
    max_processes: int
    cpu_millis: int
    tmp_bytes: int
    workspace_bytes: int
    max_files: int
    output_bytes: int
    output_total_bytes: int
    open_files: int
    file_size_bytes: int


_TIMES = ("wall_time", "cpu_time")


def wrong_type(name: str, wanted: str, value: object) -> TypeError:
    return TypeError(f"{name} must be {wanted}, not {type(value).__name__}")


def text(name: str, value: object) -> str:
    """`value`, if it is text that UTF-8 can carry."""
    if not isinstance(value, str):
        raise wrong_type(name, "a str", value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} has a lone surrogate at {error.start}, which UTF-8 can't carry"
        ) from None
    return value


def content(name: str, value: object) -> bytes:
    if isinstance(value, str):
        return text(name, value).encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise wrong_type(name, "bytes or a str", value)


def texts(name: str, value: object) -> list[str]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise wrong_type(name, "a list of str", value)
    return [text(f"{name}[{i}]", item) for i, item in enumerate(value)]


def text_map(name: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise wrong_type(name, "a dict of str to str", value)
    return {
        text(f"{name}'s key", key): text(f"{name}[{key!r}]", item)
        for key, item in value.items()
    }


def seconds(name: str, value: object) -> float:
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type(name, "seconds or a timedelta", value)
    if not 0 < value < 1e9:  # also not a number
        raise ValueError(f"{name} must be above 0 s and below 1e9 s, not {value}")
    return float(value)


def set_duration(field: duration_pb2.Duration, name: str, value: object) -> None:
    nanos = round(seconds(name, value) * 1e9)
    field.seconds, field.nanos = divmod(nanos, 1_000_000_000)


def to_seconds(duration: duration_pb2.Duration) -> float:
    return float(duration.seconds + duration.nanos / 1e9)


def to_datetime(stamp: timestamp_pb2.Timestamp) -> datetime.datetime:
    return stamp.ToDatetime(tzinfo=datetime.UTC)


def set_limits(
    message: limits_pb2.Limits, limits: object, name: str = "limits"
) -> None:
    if not isinstance(limits, Mapping):
        raise wrong_type(name, "a dict", limits)
    for key, value in limits.items():
        if key not in Limits.__annotations__:
            raise TypeError(f"{name} has no {key!r}{_nearest(key, Limits)}")
        if key in _TIMES:
            set_duration(getattr(message, key), f"{name}.{key}", value)
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_type(f"{name}.{key}", "an int", value)
        try:
            setattr(message, key, value)
        except ValueError:
            raise ValueError(f"{name}.{key} is out of range: {value}") from None


def check_options(call: str, options: Mapping[str, Any], kind: type) -> None:
    """Refuses what isn't a key of the TypedDict `kind`."""
    for key in options:
        if key not in kind.__annotations__:
            raise TypeError(
                f"{call}() got an unexpected keyword argument {key!r}"
                f"{_nearest(key, kind)}"
            )


def _nearest(key: object, kind: type) -> str:
    import difflib

    close = difflib.get_close_matches(str(key), list(kind.__annotations__), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def decode(data: bytes) -> str:
    """Text of a program, which may write what is no UTF-8 (then U+FFFD)."""
    return data.decode(errors="replace")


def decode_parts(head: bytes, tail: bytes) -> tuple[str, str]:
    """The texts before and after a cut, without the parts of a character there."""
    whole = codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    start = 0
    while start < min(3, len(tail)) and tail[start] & 0xC0 == 0x80:
        start += 1
    return whole, decode(tail[start:])


def files(name: str, value: object) -> list[tuple[str, bytes]]:
    """Of a dict of path to content, or of pairs."""
    pairs = value.items() if isinstance(value, Mapping) else value
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise wrong_type(name, "a dict of path to content", value)
    taken = []
    for pair in pairs:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise wrong_type(f"an item of {name}", "a pair of path and content", pair)
        path = text(f"a path of {name}", pair[0])
        taken.append((path, content(f"{name}[{path!r}]", pair[1])))
    return taken
