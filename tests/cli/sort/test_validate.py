"""`planner validate` compares what came out with what went in, or says that it did not."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError, ValidationFailedError


def call(*arguments: object) -> str:
    """Return what a command says on stderr."""
    outcome = CliRunner().invoke(build(), [str(argument) for argument in arguments])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    assert outcome.exit_code == 0, outcome.output
    return outcome.stderr


def test_what_went_in_is_compared_or_said_not_to_be(tmp_path: Path) -> None:
    before, after = tmp_path / "in.dat", tmp_path / "out.dat"
    call("generate", "--records", "100", before)
    call("sort", before, after)
    assert "checksum not compared: give --checksum HEX of the input, or --input FILE" in call("validate", after)
    assert "not compared" not in call("validate", after, "--input", before)
    damaged = bytearray(after.read_bytes())
    damaged[99] ^= 1  # in the value of the first record: the order stays
    after.write_bytes(damaged)
    assert "not compared" in call("validate", after)
    with pytest.raises(ValidationFailedError, match="not the data that went in"):
        call("validate", after, "--input", before)


def test_lines_are_compared_too(tmp_path: Path) -> None:
    before, after = tmp_path / "in.log", tmp_path / "out.log"
    before.write_text("b\na\n")
    after.write_text("a\nb\n")
    assert "not compared" not in call("validate", "--lines", after, "--input", before)
    after.write_text("a\nc\n")
    with pytest.raises(ValidationFailedError, match="not the data that went in"):
        call("validate", "--lines", after, "--input", before)


def test_compressed_lines_are_no_lines(tmp_path: Path) -> None:
    sorted_log = tmp_path / "sorted.log.gz"
    sorted_log.write_bytes(gzip.compress(b"a\nb\n"))
    with pytest.raises(BadInputError, match=r"is compressed \(gz\): decompress it"):
        call("validate", "--lines", sorted_log)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [(("--checksum", "xyz"), "write it in hex"), (("--checksum", "1", "--input", "{}"), "both say what went in")],
)
def test_what_cannot_be_compared_with_is_refused(tmp_path: Path, options: tuple[str, ...], sentence: str) -> None:
    file = tmp_path / "one.dat"
    call("generate", "--records", "1", file)
    with pytest.raises(BadInputError, match=sentence):
        call("validate", file, *(option.format(file) for option in options))
