"""Write into README.md what `plan` answers to the question shown there, up to the notes, which change by the day.

Usage: python scripts/write_readme_answer.py
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from planner.cli.app import build

README = Path(__file__).resolve().parent.parent / "README.md"
SHOWN = re.compile(r"^```text\n\$ plan (.*?)\n(.*?)\n\.\.\.\n```", re.DOTALL | re.MULTILINE)


def answer(question: str) -> str:
    """Return the lines of an answer that do not depend on the day."""
    outcome = CliRunner().invoke(build(), ["plan", *shlex.split(question)], env={"COLUMNS": "80"})
    lines = outcome.output.splitlines()
    ends = next((at for at, line in enumerate(lines) if line.startswith(("Note: ", "Next: "))), len(lines))
    return "\n".join(lines[:ends])


def main() -> None:
    """Write the page."""
    text = README.read_text("utf-8")
    README.write_text(
        SHOWN.sub(lambda shown: f"```text\n$ plan {shown[1]}\n{answer(shown[1])}\n...\n```", text), "utf-8"
    )


if __name__ == "__main__":
    main()
