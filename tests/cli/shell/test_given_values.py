"""Options are taken without typer's conversion where that changes nothing, and refused in words of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

from planner.cli.shell.console import PlannerCommand
from planner.errors import BadInputError

app = typer.Typer()


@app.command(cls=PlannerCommand)
def show(
    paths: Annotated[list[Path], typer.Argument()],
    count: Annotated[int, typer.Option(min=2, max=5)] = 3,
    letter: Annotated[Literal["a", "b"], typer.Option()] = "a",
    folder: Annotated[Path | None, typer.Option()] = None,
) -> None:
    """Print the values."""
    print(paths, count, letter, folder)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["x", "y"], f"{[Path('x'), Path('y')]} 3 a None"),
        (["x", "--count", "5", "--letter", "b", "--folder", "/tmp"], f"{[Path('x')]} 5 b /tmp"),
        (["-", "--count", "2"], f"{[Path('-')]} 2 a None"),
    ],
)
def test_values_have_their_types(words: list[str], expected: str) -> None:
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout.strip()) == (0, expected)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x", "--count", "6"], "--count 6: too large; at most 5"),
        (["x", "--count", "1"], "--count 1: too small; at least 2"),
        (["x", "--letter", "c"], "--letter c: use one of a, b."),
    ],
)
def test_what_typer_refuses_is_refused(words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, BadInputError)
    assert done.exception.message == message
