"""What happened, in words for a model, a person or a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sandglass import _convert

if TYPE_CHECKING:
    from sandglass._exec import CommandResult
    from sandglass._run import RichResult, RunResult
    from sandglass.v1 import verdict_pb2

_NUL = "\N{SYMBOL FOR NULL}"


def of_run(
    result: RunResult, max_chars: int | None = None, more_notes: Sequence[str] = ()
) -> str:
    """The verdict, then what it printed and showed, then notes about it. What is
    longer than `max_chars` loses the middle of its longest parts."""
    head = result.verdict
    parts = _parts(result)
    notes = [f"[{note}]" for note in (*_notes(result), *more_notes)]
    if result.ok and not parts:
        notes.insert(0, "[It printed nothing.]")
    if max_chars is None:
        return "\n".join([head, *map(_labelled, parts), *notes])
    if max_chars < 0:
        raise ValueError(f"max_chars must not be negative, but is {max_chars}")
    return _bounded(head, parts, notes, max_chars)


def html_of_run(result: RunResult) -> str:
    """The same for a notebook, with its figures."""
    import html

    shown = [f"<pre>{html.escape(of_run(result))}</pre>"]
    for rich in result.results:
        for kind in _RASTERS:
            if rich.html is None and kind in rich:
                shown.append(_image(kind, rich[kind]))
                break
        else:
            shown += filter(None, [_html_of(rich)])
    return "\n".join(shown)


_RASTERS = ("image/png", "image/jpeg", "image/gif")
# What a notebook shows without taking any part of it for HTML or a script; it
# does take Markdown and others for that.
_INERT = ("text/plain", "text/latex", "application/json", *_RASTERS)


def bundle_of(rich: RichResult) -> dict[str, Any]:
    """What a notebook may show of a result: the notebook is outside of the
    sandbox, so nothing that a program made becomes part of its page."""
    bundle: dict[str, Any] = {}
    for kind in filter(rich.__contains__, _INERT):
        text = kind.startswith("text/")
        bundle[kind] = _convert.decode(rich[kind]) if text else rich[kind]
    if "application/json" in bundle:
        try:
            bundle["application/json"] = rich.json
        except ValueError:
            del bundle["application/json"]
    if page := _html_of(rich):
        bundle["text/html"] = page
    if not bundle:
        bundle["text/plain"] = repr(rich)
    return bundle


def _html_of(rich: RichResult) -> str | None:
    if rich.html is not None:
        return _frame(rich.html)
    if "image/svg+xml" in rich:
        return _image("image/svg+xml", rich["image/svg+xml"])
    for kind in ("application/javascript", "text/javascript"):
        if kind in rich:
            script = _convert.decode(rich[kind])
            return _frame(f"<script>var element = document.body;\n{script}</script>")
    return None


def _image(kind: str, content: bytes) -> str:
    # Scripts in an image that is shown like this do not run.
    import base64

    data = base64.b64encode(content).decode()
    return f'<div><img src="data:{kind};base64,{data}"></div>'


def _frame(page: str) -> str:
    """A frame around a program's page. Its scripts run, as figures need it, but as
    those of a stranger's site: without `allow-same-origin` they reach neither the
    notebook around them nor its server, cookies or storage."""
    import html

    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(page)}" '
        'style="border: 0; width: 100%; height: 20em; resize: vertical"></iframe>'
    )


def of_command(result: CommandResult) -> str:
    parts = [result.verdict]
    if result.output:
        parts.append(result.output.removesuffix("\n"))
    if result.truncated:
        parts.append(f"[{result.dropped_bytes} bytes of output were left out]")
    parts += [f"[{note}]" for note in left_running(result.raw.evidence)]
    return "\n".join(parts + result.hints)


def left_running(evidence: verdict_pb2.Evidence) -> list[str]:
    """A note about what a program or command had started and not waited for."""
    left = evidence.leftover_processes
    if not left:
        return []
    what = "1 process was" if left == 1 else f"{left} processes were"
    return [f"{what} still running at its end, and killed"]


def cut_middle(text: str, room: int) -> str:
    """`text`, or its head and tail with a line that says how much is missing."""
    if len(text) <= room:
        return text
    # The number of the line is at most as wide as that of all.
    wide = len(_cut_line(len(text), len(text)))
    half = (room - wide) // 2
    if half <= 0:
        return text[:room]
    head, tail = text[:half], text[-half:]
    # A cut between two lines is better, when it doesn't cost much.
    if (end := head.rfind("\n")) >= half * 3 // 4:
        head = head[:end]
    if 0 <= (start := tail.find("\n")) <= half // 4:
        tail = tail[start + 1 :]
    return head + _cut_line(len(text) - len(head) - len(tail), len(text)) + tail


def _cut_line(cut: int, total: int) -> str:
    return f"\n[… {cut} of {total} characters are cut here: print less …]\n"


def _bounded(
    head: str, parts: list[tuple[str, str]], notes: list[str], room: int
) -> str:
    head = cut_middle(head, room // 4)
    left = room // 4
    kept: list[str] = []
    for note in notes:
        note = cut_middle(note, room // 8)
        if len(note) + 1 > left:
            kept.append(f"[{len(notes) - len(kept)} more notes]")
            break
        left -= len(note) + 1
        kept.append(note)
    fixed = len(head) + sum(len(note) + 1 for note in kept)
    fixed += sum(len(label) + 3 for label, _ in parts)
    left = max(room - fixed, 0)
    shares: dict[int, int] = {}
    # Short ones first, so that they are whole and the long ones share the rest.
    order = sorted(range(len(parts)), key=lambda i: len(parts[i][1]))
    for count, index in enumerate(order):
        shares[index] = min(len(parts[index][1]), left // (len(parts) - count))
        left -= shares[index]
    shown = [
        _labelled((label, cut_middle(text, shares[i])))
        for i, (label, text) in enumerate(parts)
    ]
    return cut_middle("\n".join([head, *shown, *kept]), room)


def _labelled(part: tuple[str, str]) -> str:
    label, text = part
    return f"{label}:\n{text}" if label else text


def _parts(result: RunResult) -> list[tuple[str, str]]:
    raw = result.raw
    parts: list[tuple[str, str]] = []
    if raw.HasField("compile"):
        _stream(parts, "compiler", raw.compile.stdout)
        _stream(parts, "compiler", raw.compile.stderr)
    _stream(parts, "", raw.stdout)
    _stream(parts, "stderr", raw.stderr)
    parts += [("", _rich(rich)) for rich in result.results]
    if (error := result.error) is not None:
        parts.append(("", _clean(str(error))))
    return parts


def _notes(result: RunResult) -> list[str]:
    raw = result.raw
    notes: list[str] = []
    if raw.results_dropped:
        notes.append(f"{raw.results_dropped} more results had no room")
    for file in result.files.values():
        # A pattern that nothing matches is no loss.
        if file.error != "not_found" or not any(c in file.path for c in "*?["):
            notes.append(f"file {file.path}: {file.error or f'{file.size} bytes'}")
    if raw.libraries.installed:
        notes.append(f"installed: {' '.join(raw.libraries.libraries)}")
    for finding in raw.findings:
        place = f"{finding.path}:{finding.line}: " if finding.line else ""
        notes.append(f"{place}rule {finding.rule_id}: {finding.message}")
    if result.approval_id:
        notes.append(
            f"It waits for a person's approval, {result.approval_id}. Nothing ran."
        )
    if raw.session.state_lost:
        notes.append(raw.session.state_lost)
    notes += left_running(raw.evidence)
    for refusal in raw.network.refusals:
        notes.append(f"network: {refusal.target} was refused: {refusal.reason}")
    for redaction in raw.redactions:
        notes.append(f"redacted in the output: {redaction.name}, {redaction.count}×")
    return notes + result.hints


def _clean(text: str) -> str:
    # Models' servers refuse it, and JSON's readers stumble over it.
    return text.replace("\0", _NUL).removesuffix("\n")


def _rich(rich: RichResult) -> str:
    lines = [] if rich.text is None else [_clean(rich.text)]
    others = [kind for kind in rich.data if kind != "text/plain"]
    if others and (rich.text is None or "image/png" in others):
        lines.append(f"[{', '.join(others)}]")
    return "\n".join(lines)


def _stream(parts: list[tuple[str, str]], name: str, output: object) -> None:
    data: bytes = output.data  # type: ignore[attr-defined]
    if not data:
        return
    if not output.truncated:  # type: ignore[attr-defined]
        parts.append((name, _clean(_convert.decode(data))))
        return
    head: int = output.head_bytes  # type: ignore[attr-defined]
    total: int = output.total_bytes  # type: ignore[attr-defined]
    text = _clean(_convert.decode(data[:head]))
    text += f"\n[{total - len(data)} bytes left out]\n"
    parts.append((name, text + _clean(_convert.decode(data[head:]))))
