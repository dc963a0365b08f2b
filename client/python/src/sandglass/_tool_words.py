"""What a model is told that a tool which runs code can do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandglass import _convert
from sandglass._agent_run import Runner, ToolFailed
from sandglass._convert import Seconds

if TYPE_CHECKING:
    from sandglass.v1 import limits_pb2, server_info_pb2


@dataclass(frozen=True)
class Offer:
    """Texts for a model. `languages` are their ids; `libraries` is empty where none
    can be named."""

    description: str
    languages: tuple[str, ...]
    lang: str
    code: str
    libraries: str
    aliases: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def unknown(cls, runner: Runner) -> Offer:
        """Of a daemon that couldn't be asked."""
        return _offer(runner, dict.fromkeys(runner.languages, ""), "", {})

    @classmethod
    def of(cls, runner: Runner, info: server_info_pb2.GetServerInfoResponse) -> Offer:
        options = runner.run_options
        name = runner.sandbox_options.get("profile") or options.get("profile")
        profiles = {profile.name: profile for profile in info.profiles}
        profile = profiles.get(name or "default")
        aliases: dict[str, str] = {}
        offered: dict[str, str] = {}
        for language in info.languages:
            names = [language.id, *language.aliases]
            aliases |= dict.fromkeys(names, language.id)
            if not language.available:
                continue
            if profile is not None and language.id not in profile.languages:
                continue
            if runner.languages and not set(names).intersection(runner.languages):
                continue
            offered[language.id] = _version(language.id, language.version)
        limits = ""
        # A sandbox of the user's own may have any profile.
        if profile is not None and runner.sandbox is None:
            limits = _limits(profile, options.get("timeout"))
        return _offer(runner, offered, limits, aliases)

    def check(self, lang: str) -> None:
        """Refuses a language that isn't offered."""
        if self.aliases.get(lang.lower(), lang.lower()) not in self.languages:
            raise ToolFailed(
                f"The program didn't run: lang must be one of "
                f"{', '.join(self.languages)}, not {lang!r}"
            )


def _offer(
    runner: Runner, offered: Mapping[str, str], limits: str, aliases: Mapping[str, str]
) -> Offer:
    lines = ["Runs a program in a sealed sandbox and tells what became of it."]
    shown = "The answer has the verdict first, then what it printed. Print what you "
    shown += "want to see"
    if "files" in runner.run_options:
        lines.append(f"{shown}.")
    else:
        lines.append(f"{shown}; of Python also the last expression's value is shown.")
    if runner.keeps_state:
        lines.append(
            "Variables (in Python, JavaScript, Ruby, Java and Bash) and files in "
            "/workspace stay from call to call."
        )
    else:
        lines.append(
            "Each call begins anew: no variables, files or processes are left of "
            "earlier calls, so give the whole program each time."
        )
    if runner.images:
        lines.append(
            "You see figures: those that matplotlib shows in Python, and image files "
            "(*.png, *.jpg, *.gif) that programs in other languages write."
        )
    if limits:
        lines.append(limits)
    has = runner.libraries
    if has:
        lines.append(f"These libraries can be imported: {', '.join(has)}.")
    libraries = ""
    if not runner.keeps_state:
        lines.append(
            "Libraries that the program imports are named in `libraries`; pip, npm "
            "and the like don't work inside."
        )
        libraries = (
            "Names of libraries that the code imports and that are not part of the "
            'language, as its package manager writes them: ["numpy", "requests>=2"]. '
            "Leave it out when there are none."
        )
    lang = "The programming language of the code."
    if offered:
        versions = [f"{name}{version}" for name, version in offered.items()]
        lang = f"The language of the code: {', '.join(versions)}."
    return Offer(
        description="\n".join(lines),
        languages=tuple(offered),
        lang=lang,
        code="The whole program as plain text, without Markdown fences.",
        libraries=libraries,
        aliases=aliases,
    )


def _version(language: str, words: str) -> str:
    """The number in what a runtime says of itself, to be put behind its name."""
    number = re.search(r"\d+(\.\d+)+", words)
    if number is None:
        return ""
    tool = {"cpp": "g++ ", "javascript": "Node.js "}.get(language)
    return f" ({tool}{number.group()})" if tool else f" {number.group()}"


def _limits(profile: server_info_pb2.ProfileInfo, timeout: Seconds | None) -> str:
    limits: limits_pb2.Limits = profile.limits
    seconds = _convert.to_seconds(limits.wall_time)
    if timeout is not None:
        seconds = min(seconds, _convert.seconds("timeout", timeout))
    memory = limits.memory_bytes >> 20
    words = f"A call has {seconds:g} s, {memory} MiB of memory, "
    if profile.network == "none":
        return words + "and no network."
    hosts = "; ".join(profile.network_hosts)
    return words + f"and reaches these hosts alone: {hosts}."
