"""The screens of commands, approved word by word in tests/golden/screens: a sentence put better changes one file.

Each file holds commands and what they print, errors with their exit code. `pytest --write-goldens` renews them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from spark_events import lines, small_job
from typer.testing import CliRunner

from planner.cli.app import build
from planner.cli.shell.failures import ending_of, headed

TESTS = Path(__file__).resolve().parents[1]
SCREENS = sorted((TESTS / "golden" / "screens").glob("*.txt"))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with the files that the commands name; it is the current one, without settings of the user."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "app-1").write_bytes(lines(small_job()))
    for stored in ("plan-1.json", "plan-2.json"):
        shutil.copy(TESTS / "data" / "stored" / stored, folder)
    for name, text in {
        "there": "1\n",
        "people.csv": "name,age\nEve,9\nAda,36\n",
        "sorted": "a\nb\n",
        "bin": "\0",
    }.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in [name for name in os.environ if name.startswith(("AWS_", "XDG_", "GOOGLE_", "AZURE_"))]:
            patch.delenv(name)
        for name, text in {"HOME": str(folder), "COLUMNS": "80", "NO_COLOR": "1"}.items():
            patch.setenv(name, text)
        yield folder


def screen(command: str) -> str:
    """Return a command and what it prints: results, then what it says to the person, then an error's exit code."""
    program, *words = shlex.split(command)
    words = words if program == "planner" else ["plan", *words]
    ended = CliRunner().invoke(build(), words)
    said, code = ended.output, ended.exit_code
    if isinstance(ended.exception, Exception):
        text, code = ending_of(ended.exception)
        said += f"error: {headed(text)}\n"
    rows = [line.rstrip() for line in said.splitlines()]
    return "\n".join([f"$ {command}", *rows, *([f"(ends with {code})"] if code else []), ""])


@pytest.mark.parametrize("file", SCREENS, ids=lambda file: file.stem)
def test_screens_are_as_approved(file: Path, desk: Path, request: pytest.FixtureRequest) -> None:
    approved = file.read_text(encoding="utf-8")
    commands = [line.removeprefix("$ ") for line in approved.splitlines() if line.startswith("$ ")]
    shown = re.sub(r"\d+ days old", "NNN days old", "\n".join(map(screen, commands)).replace(str(desk), "DESK"))
    if request.config.getoption("--write-goldens"):
        file.write_text(shown, encoding="utf-8")
    assert commands and shown == approved
