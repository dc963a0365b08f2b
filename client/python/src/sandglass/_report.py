"""What happened, in words for a model, a person or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandglass import _convert

if TYPE_CHECKING:
    from sandglass._exec import CommandResult
    from sandglass._run import RunResult


def of_run(result: RunResult) -> str:
    raw = result.raw
    parts = [result.verdict]
    if raw.HasField("compile"):
        _stream(parts, "compiler", raw.compile.stdout)
        _stream(parts, "compiler", raw.compile.stderr)
    _stream(parts, "stdout", raw.stdout)
    _stream(parts, "stderr", raw.stderr)
    for rich in result.results:
        if rich.text is not None:
            parts.append(rich.text)
        others = [kind for kind in rich.data if kind != "text/plain"]
        if others and (rich.text is None or "image/png" in others):
            parts.append(f"[{', '.join(others)}]")
    if raw.results_dropped:
        parts.append(f"[{raw.results_dropped} more results had no room]")
    if (error := result.error) is not None:
        parts.append(str(error))
    for file in result.files.values():
        parts.append(f"[file {file.path}: {file.error or f'{file.size} bytes'}]")
    for finding in raw.findings:
        place = f"{finding.path}:{finding.line}: " if finding.line else ""
        parts.append(f"[{place}rule {finding.rule_id}: {finding.message}]")
    if result.approval_id:
        parts.append(
            f"[It waits for a person's approval, {result.approval_id}. Nothing ran.]"
        )
    if raw.session.state_lost:
        parts.append(f"[{raw.session.state_lost}]")
    for refusal in raw.network.refusals:
        parts.append(f"[network: {refusal.target} was refused: {refusal.reason}]")
    parts += [f"[{hint}]" for hint in result.hints]
    return "\n".join(parts)


def of_command(result: CommandResult) -> str:
    parts = [result.verdict]
    if result.output:
        parts.append(result.output.removesuffix("\n"))
    if result.truncated:
        parts.append(f"[{result.dropped_bytes} bytes of output were left out]")
    return "\n".join(parts)


def _stream(parts: list[str], name: str, output: object) -> None:
    data: bytes = output.data  # type: ignore[attr-defined]
    if not data:
        return
    if name != "stdout":
        parts.append(f"{name}:")
    if not output.truncated:  # type: ignore[attr-defined]
        parts.append(_convert.decode(data).removesuffix("\n"))
        return
    head: int = output.head_bytes  # type: ignore[attr-defined]
    total: int = output.total_bytes  # type: ignore[attr-defined]
    parts.append(_convert.decode(data[:head]))
    parts.append(f"[{total - len(data)} bytes left out]")
    parts.append(_convert.decode(data[head:]).removesuffix("\n"))
