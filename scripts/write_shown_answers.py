"""Write what commands answer into the pages that show it, and draw the terminal and a simulated sort.

Usage: python scripts/write_shown_answers.py [--check]

Of README.md and docs/tutorial.md, the lines `$ plan ...` and `$ planner ...` of fenced blocks are run from top to
bottom in an empty folder. What an answer says from its notes on depends on the day, and stands as `...`; so does what
follows the lines that `| head -3` asks for. With --check nothing is written, and the exit code is 1 for a page that is
not current.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from typer.testing import CliRunner

from planner.cli.app import build

CHECKOUT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = ("README.md", "docs/tutorial.md")
PICTURE: Final = "docs/plan.svg"
PICTURED: Final = "plan --data 100TB"
WAITS: Final = "docs/waits.svg"
SIMULATED: Final = "plan --data 1TB --model daytona --instance i4i.4xlarge --nodes 8 --simulate --draws 1 --timeline"
SHOWN: Final = re.compile(r"^```text\n(\$ plan.*?)^```", re.DOTALL | re.MULTILINE)
_BY_DAY: Final = ("Note: ", "Next: ")
_SVG: Final = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>The answer of plan --data 100TB in a terminal</title>
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
"""As rich draws a terminal, without the font that it would load from elsewhere."""


def answer(command: str) -> str:
    """Return what a command prints, with `...` for what depends on the day or was not asked for."""
    words, _, head = command.partition(" | head -")
    program, *arguments = shlex.split(words)
    done = CliRunner().invoke(build(), arguments if program == "planner" else ["plan", *arguments], env=_PLAIN)
    lines = done.stdout.rstrip("\n").splitlines()
    ends = next((at for at, line in enumerate(lines) if line.startswith(_BY_DAY)), len(lines))
    ends = min(ends, int(head)) if head else ends
    return "".join(f"{line.rstrip()}\n" for line in [*lines[:ends], *(["..."] if ends < len(lines) else [])])


_PLAIN: Final = {"COLUMNS": "80", "PLANNER_SETTINGS": os.devnull, "NO_COLOR": "1"}


def page(text: str) -> str:
    """Return a page with its answers as they are now."""
    return SHOWN.sub(lambda shown: f"```text\n{''.join(map(_typed, _commands(shown[1])))}```", text)


def _commands(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def _typed(command: str) -> str:
    return f"$ {command}\n{answer(command)}"


def picture() -> str:
    """Return the terminal as SVG."""
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text(f"$ {PICTURED}", style="bold green"))
    for line in answer(PICTURED).splitlines():
        console.print(Text(line, style="bold" if line.startswith(("Rent", "for ")) else ""), soft_wrap=True)
    drawn = console.export_svg(title="sortplanner", theme=MONOKAI, code_format=_SVG, unique_id="plan")
    return re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE)


def waits() -> str:
    """Return what nodes wait for in a simulated sort as SVG."""
    answer(f"{SIMULATED} waits.svg")
    return Path("waits.svg").read_text("utf-8")


def main() -> int:
    """Write the pages and the pictures, or check them."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        current = {name: page((CHECKOUT / name).read_text("utf-8")) for name in PAGES}
        current |= {PICTURE: picture(), WAITS: waits()}
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
