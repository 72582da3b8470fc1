"""What is typed and cannot be taken is answered with what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("generate 300MB test.dat", "planner generate --size 300MB input.dat"),
        ("cluster list", "Did you mean: planner cluster status"),
        ("cluster rm r1", "Did you mean: planner cluster down"),
        ("cluster dwn", "Did you mean 'down'"),
        ("cluster down", "`planner cluster status` lists them. For example: planner cluster down r2"),
        ("catalog ls", "Did you mean: planner catalog show"),
        ("sort in.dat", "Missing argument 'OUTPUT'. Where the result goes"),
        ("sort", "Missing argument 'INPUT'. The files to sort"),
        ("validate --chksum 1 a", "No such option: --chksum"),
    ],
)
def test_a_refusal_says_what_to_type(words: str, sentence: str) -> None:
    outcome = CliRunner().invoke(build(), words.split(), prog_name="planner")
    assert outcome.exit_code == 2
    assert sentence in " ".join(outcome.stderr.replace("│", " ").split())


def test_the_result_of_a_sort_is_a_file_with_a_name(tmp_path: Path) -> None:
    source = tmp_path / "in.log"
    source.write_text("b\na\n")
    outcome = CliRunner().invoke(build(), ["sort", "--lines", str(source), "-"])
    assert isinstance(outcome.exception, BadInputError)
    assert "OUTPUT -: the result is a file" in outcome.exception.message


def test_plan_says_its_version() -> None:
    outcome = CliRunner().invoke(build(), ["plan", "--version"])
    assert (outcome.exit_code, outcome.stdout.split()[0]) == (0, "planner")
