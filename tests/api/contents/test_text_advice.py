"""Advice on text files given to the sorting commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from approvals import Approve
from typer.testing import CliRunner

from planner.api.contents.text_advice import notes_on_columns
from planner.cli.app import build
from planner.compression.text_codecs import look_at
from planner.errors import BadInputError


def refusal(*words: str) -> str:
    outcome = CliRunner().invoke(build(only=words[0]), words)
    assert isinstance(outcome.exception, BadInputError)
    return outcome.exception.message


def test_text_said_to_be_records_is_refused_with_what_sorts_it(tmp_path: Path) -> None:
    text, data, out = tmp_path / "a.csv", tmp_path / "a.dat", str(tmp_path / "out")
    text.write_text("name,n\nzoë,2\n", encoding="utf-8")
    data.write_bytes(bytes(range(256)))
    advice = "it looks like text: --lines sorts its lines, --format csv --key 2"
    assert advice in refusal("sort", "--format", "records", str(text), out)
    assert "it looks like text: add --lines" in refusal("validate", "--format", "records", str(text))
    assert refusal("sort", "--format", "records", str(data), out).endswith("56 are left over")


def test_a_key_is_numbers(tmp_path: Path, approve: Approve) -> None:
    text = tmp_path / "a.txt"
    text.write_text("name,n\n")
    message = refusal("sort", "--key", "name", str(text), str(tmp_path / "out"))
    approve(message)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,n\nann,2\n", ["looks like a heading"]),
        ('"Lee, Ann",2\n"Bob",3\n', ["within quotes"]),
        ('name,n\n"Lee\nAnn",2\n', ["within quotes"]),
        ('"Bob",3\n"Lee" ,2\n', []),
        ("ann,bob\n", []),
        ("", []),
    ],
)
def test_headings_and_quotes_are_named(tmp_path: Path, text: str, expected: list[str]) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    notes = list(notes_on_columns(look_at(str(file)), b","))
    assert len(notes) == len(expected)
    assert all(part in note for part, note in zip(expected, notes, strict=True))
