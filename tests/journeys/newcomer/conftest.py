"""A person at a terminal of 80 columns, in an empty folder, without a cloud account."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from planner.cli.app import build
from planner.cli.shell.console import exit_code_of

Typed = Callable[..., str]
_FRAME = re.compile(r"[│╭╮╰╯─]")


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Type a command that ends with `code`, and return its output, as one line where not `as_lines`."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)

    def type_command(command: str, *, code: int = 0, as_lines: bool = False) -> str:
        program, *words = shlex.split(command)
        ended = _code_of(words if program == "planner" else [program, *words])
        printed = capsys.readouterr()
        text = _FRAME.sub(" ", printed.out + printed.err)
        assert ended == code, text
        return text if as_lines else " ".join(text.split())

    return type_command


def _code_of(words: list[str]) -> int:
    try:
        return exit_code_of(partial(build(), words, prog_name="planner"))
    except SystemExit as end:
        return int(end.code or 0)
