"""Options skip typer's conversion where that changes nothing, and are refused in the planner's own words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

import planner
from planner.cli.app import build
from planner.cli.shell.commands import PlannerCommand
from planner.errors import BadInputError

app = typer.Typer()


@app.command(cls=PlannerCommand)
def show(
    paths: Annotated[list[Path], typer.Argument()],
    count: Annotated[int, typer.Option(min=2, max=5)] = 3,
    letter: Annotated[Literal["a", "b"], typer.Option()] = "a",
    folder: Annotated[Path | None, typer.Option()] = None,
    only: Annotated[list[str] | None, typer.Option()] = None,
    loud: Annotated[bool, typer.Option()] = False,
) -> None:
    """Print the values."""
    print(paths, count, letter, folder, *(only or ()), *(["loud"] if loud else ()))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["x", "y"], f"{[Path('x'), Path('y')]} 3 a None"),
        (["x", "--count", "5", "--letter", "b", "--folder", "/tmp"], f"{[Path('x')]} 5 b /tmp"),
        (["-", "--count", "2"], f"{[Path('-')]} 2 a None"),
        (["x", "--count", "2", "--count=2", "--loud", "--loud"], f"{[Path('x')]} 2 a None loud"),
        (["x", "--only", "b", "--only", "c"], f"{[Path('x')]} 3 a None b c"),
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
        (["--count", "2", "x", "--count=3"], "--count is given twice, as 2 and as 3: leave out one of them"),
    ],
)
def test_what_typer_refuses_is_refused(words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, BadInputError)
    assert done.exception.message == message


@pytest.mark.parametrize(
    "words", ["plan --data 3TB --data 4TB", "plan 3TB --data 4TB", "generate x --size 1MB --size 2MB"]
)
def test_every_command_refuses_a_second_value(words: str) -> None:
    done = CliRunner().invoke(build(only=words.split(maxsplit=1)[0]), words.split())
    assert isinstance(done.exception, BadInputError) and " is given twice, as " in done.exception.message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("sort --memory 1 a b", "--memory: size '1' has no unit; write it as 100TB or 8GiB"),
        ("generate --size 1 x", "--size: size '1' has no unit; write it as 100TB or 8GiB"),
        ("generate --size 0B x", "--size: size '0B' must lie between 1B and 100EB"),
        ("generate --size 1B x", "--size 1B: not a whole number of 100-byte records; write 100B"),
        ("generate --size 150B x", "--size 150B: not a whole number of 100-byte records; write 200B"),
        ("bench sort --size 1", "--size: size '1' has no unit; write it as 100TB or 8GiB"),
        ("storage --throughput 3", "--throughput: rate '3' has no unit; write it as 800MB/s or 25Gbit/s"),
    ],
)
def test_a_refused_amount_names_its_option(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(build(only=words.split(maxsplit=1)[0]), words.split())
    assert isinstance(done.exception, BadInputError) and done.exception.message == message


@pytest.mark.parametrize(
    "words",
    [
        "plan --data 1TB --model daytona --html",
        "plan --data 1TB --model daytona --out",
        "plan --data 1TB --model daytona --chart",
        "simulate --data 1TB --model daytona --timeline",
        "report PLAN --html",
        "report PLAN --from-platform RUN --runs",
        "explain-log LOG --html",
        "export PLAN --to emr --out",
        "screen RUN --html",
        "validate DATA --summary",
        "run --data 1MB --model indy --out",
    ],
)
@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_to_write_is_no_folder(
    words: str, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before any work, so that inputs need not be right."""
    monkeypatch.chdir(tmp_path)
    for name in ("PLAN", "RUN", "LOG", "DATA"):
        Path(name).write_text("{}\n")
    if is_there:
        Path("new").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for name in ("new/", "new")[: 1 + is_there]:
        done = CliRunner().invoke(build(), [*words.split(), name])
        assert isinstance(done.exception, BadInputError), done.exception
        assert "new" in done.exception.message
    assert sorted(tmp_path.rglob("*")) == before


def test_the_library_refuses_a_folder_for_a_summary(tmp_path: Path) -> None:
    planner.generate(tmp_path / "data", records=10)
    for name in (f"{tmp_path}/new/", tmp_path):
        with pytest.raises(BadInputError):
            planner.validate(tmp_path / "data", summary=name)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
