#!/usr/bin/python3
"""Makes the pictures of the README from text and from real runs.

usage: make.py processes            processes.txt to processes.svg
       make.py demo PROGRAM_DIR     runs the commands of demo.txt with the
                                    programs there, and writes what they did
                                    to demo.cast (asciicast 2) and demo.svg
"""

import html
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
COLUMNS, ROWS = 96, 30
# Of a letter, in units of the picture.
WIDTH, HEIGHT = 8.4, 18
COLOURS = {"32": "#7ec699", "33": "#e6c07b", "1": "#ffffff"}
TYPING = 0.04  # seconds for a letter
REST = 1.2  # after a command
STYLE = "font-family:ui-monospace,monospace;font-size:14px;white-space:pre"


def spans(line):
    """The pieces of a line by their colour, which SGR sequences say."""
    colour = ""
    for piece in re.split(r"(\x1b\[[0-9;]*[mK])", line):
        if piece.startswith("\x1b["):
            if piece.endswith("m"):
                colour = COLOURS.get(piece[2:-1], "")
        elif piece:
            yield colour, piece


def wrapped(line):
    """As a terminal shows it. Colours end where a line does."""
    rows, row, shown = [], "", 0
    for colour, text in spans(line):
        for letter in text:
            if shown == COLUMNS:
                rows.append(row)
                row, shown = "", 0
            code = next((c for c, v in COLOURS.items() if v == colour), "0")
            row += f"\x1b[{code}m{letter}" if colour else f"\x1b[0m{letter}"
            shown += 1
    return [*rows, row]


def merged(line):
    """The same with each run of one colour together."""
    pieces = []
    for colour, text in spans(line):
        if pieces and pieces[-1][0] == colour:
            pieces[-1] = colour, pieces[-1][1] + text
        else:
            pieces.append((colour, text))
    return pieces


def text_line(number, line, begin=None):
    parts = "".join(
        f'<tspan fill="{colour}">{html.escape(text)}</tspan>' if colour
        else html.escape(text)
        for colour, text in merged(line)
    )
    show = "" if begin is None else f' class="l" style="animation-delay:{begin:.2f}s"'
    return f'<text x="12" y="{24 + number * HEIGHT:g}"{show}>{parts}</text>'


def picture(lines, style="", columns=COLUMNS):
    width = 24 + columns * WIDTH
    height = 20 + len(lines) * HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}">\n'
        f"<style>text{{{STYLE};fill:#d0d0d0}}{style}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#1c1e26"/>\n'
        + "\n".join(lines) + "\n</svg>\n"
    )


def processes():
    lines = (HERE / "processes.txt").read_text().splitlines()
    (HERE / "processes.svg").write_text(
        picture([text_line(i, line) for i, line in enumerate(lines)],
                columns=max(map(len, lines))))


def run(command, environment):
    """What a command writes to a terminal, with the seconds since its start."""
    begin = time.monotonic()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL,
                               stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    while True:
        if select.select([ours], [], [], 60)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the last one has closed it
                break
            yield time.monotonic() - begin, data.decode(errors="replace")
    process.wait()
    os.close(ours)


def demo(programs):
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}",
                   "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    events, now = [], 0.5
    for command in (HERE / "demo.txt").read_text().splitlines():
        events.append((now, "\x1b[32m$\x1b[0m "))
        for letter in command:
            now += TYPING
            events.append((now, letter))
        now += 0.2
        events.append((now, "\r\n"))
        begin = now
        for after, text in run(command, environment):
            now = begin + after
            events.append((now, text))
        now += REST
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "Sandglass"}
    with (HERE / "demo.cast").open("w") as cast:
        for each in (header, *([round(when, 3), "o", text] for when, text in events)):
            cast.write(json.dumps(each) + "\n")
    # A line appears whole, when its last letter came.
    lines, line = [], ""
    for when, text in events:
        for piece in re.split(r"(\r?\n)", text):
            if piece.endswith("\n"):
                lines += [(when, part) for part in wrapped(line)]
                line = ""
            else:
                line += piece
    drawn = [text_line(i, text, when) for i, (when, text) in enumerate(lines)]
    (HERE / "demo.svg").write_text(picture(
        drawn, ".l{opacity:0;animation:s 0s forwards}@keyframes s{to{opacity:1}}"))


if __name__ == "__main__":
    if sys.argv[1:] == ["processes"]:
        processes()
    elif len(sys.argv) == 3 and sys.argv[1] == "demo":
        demo(sys.argv[2])
    else:
        sys.exit(__doc__)
