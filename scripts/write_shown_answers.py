"""Write the answers of commands into the pages that show them, record terminals, and draw a simulated sort.

Usage: python scripts/write_shown_answers.py [--check]

The lines `$ plan ...` and `$ planner ...` of fenced blocks in README.md and docs/index.md are run from top to bottom
in an empty folder. The part of an answer from the age of its prices or its notes on depends on the day and appears as
`...`, as do the lines beyond those that `| head -3` selects. Each pictured command runs in its own terminal. --check
writes nothing, and the exit code is 1 for a page that is not current.
"""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
import termios
from contextlib import chdir
from html import escape
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from typer.testing import CliRunner

from planner.cli.app import build

CHECKOUT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = ("README.md", "docs/index.md")
PICTURES: Final = {
    "docs/plan.svg": "plan --data 100TB",
    "docs/pictures/parquet.svg": "plan --data 3TB --input gs://lake/events --output gs://lake/sorted --format parquet"
    " --region europe-west4 --budget 100",
    "docs/pictures/own.svg": "planner own '20 x m5d.12xlarge' --data 3TB",
    "docs/pictures/why-not.svg": "planner why-not c6id.32xlarge --data 3TB",
    "docs/pictures/sizes.svg": "planner sizes --data 3TB,6TB,12TB",
    "docs/pictures/deadline.svg": "plan --data 8TB --deadline 15m --confidence 95%",
}
"""Pictures of a terminal, with the command typed in it."""
WAITS: Final = "docs/waits.svg"
SIMULATED: Final = "planner simulate --data 1TB --model daytona --instance i4i.4xlarge --nodes 8 --draws 1 --timeline"
SHOWN: Final = re.compile(r"^```text\n(\$ plan.*?)^```", re.DOTALL | re.MULTILINE)
_COLUMNS: Final = 80
_BY_DAY: Final = ("Prices: ", "Note: ", "Next: ")
_SVG: Final = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>The answer of {title} in a terminal</title>
<style>
.{unique_id}-matrix {{font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
line-height: {line_height}px; white-space: pre}}
.{unique_id}-title {{font-size: 18px; font-weight: bold; font-family: sans-serif}}
{styles}
</style>
<defs>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's drawing of a terminal, without the font that it would load from elsewhere."""


def answer(command: str) -> str:
    """Return a command's output, with `...` for the parts that depend on the day or were not requested."""
    words, _, head = command.partition(" | head -")
    program, *arguments = shlex.split(words)
    done = CliRunner().invoke(build(), arguments if program == "planner" else ["plan", *arguments], env=_PLAIN)
    lines = done.stdout.rstrip("\n").splitlines()
    ends = next((at for at, line in enumerate(lines) if line.startswith(_BY_DAY)), len(lines))
    ends = min(ends, int(head)) if head else ends
    return "".join(f"{line.rstrip()}\n" for line in [*lines[:ends], *(["..."] if ends < len(lines) else [])])


_PLAIN: Final = {"COLUMNS": "80", "PLANNER_SETTINGS": os.devnull, "NO_COLOR": "1"}


def page(text: str) -> str:
    """Return a page with its current answers."""
    return SHOWN.sub(lambda shown: f"```text\n{''.join(map(_typed, _commands(shown[1])))}```", text)


def _commands(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def _typed(command: str) -> str:
    return f"$ {command}\n{answer(command)}"


def picture(command: str) -> str:
    """Return an SVG of a terminal in which a command was typed."""
    shown = Text.from_ansi(_in_terminal(command)).split("\n")
    ends = next((at for at, line in enumerate(shown) if line.plain.startswith(_BY_DAY)), len(shown))
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text(f"$ {command}", style="bold green"))
    for line in [*shown[:ends], *([Text("...")] if ends < len(shown) else [])]:
        line.rstrip()
        line.stylize("bold" if line.plain.startswith(("Rent", "for ")) else "")
        console.print(*line.divide(range(_COLUMNS, len(line), _COLUMNS)), sep="\n")
    drawn = console.export_svg(
        title="sortplanner",
        theme=MONOKAI,
        code_format=_SVG.replace("{title}", escape(command, quote=False)),
        unique_id="plan",
    )
    return re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE)


def _in_terminal(command: str) -> str:
    """Return everything a command prints on its own terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, _COLUMNS))
    unset = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    environment = unset | {"TERM": "xterm-256color", "PLANNER_SETTINGS": os.devnull}
    words = [sys.executable, "-m", "planner", *shlex.split(command.removeprefix("planner "))]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        return b"".join(iter(lambda: _read(ours), b"")).decode().replace("\r\n", "\n").rstrip("\n")


def _read(terminal: int) -> bytes:
    """Return the output sent to a terminal, or b"" when its last program has ended, which Linux reports as an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def waits() -> str:
    """Return an SVG of the nodes' waits in a simulated sort."""
    answer(f"{SIMULATED} waits.svg")
    return Path("waits.svg").read_text("utf-8")


def main() -> int:
    """Write the pages and the pictures, or check them."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        current = {name: page((CHECKOUT / name).read_text("utf-8")) for name in PAGES}
        current |= {path: picture(command) for path, command in PICTURES.items()} | {WAITS: waits()}
    stale = [name for name, text in current.items() if _text(CHECKOUT / name) != text]
    if "--check" in sys.argv:
        print(*(f"{name} is not current: run scripts/write_shown_answers.py" for name in stale), file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (CHECKOUT / name).write_text(current[name], "utf-8")
    return 0


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
