"""Text and table options of `planner run`: those accepted, their messages, and those refused before any question."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError

PLACE = "--cloud aws --model indy --input s3://b/in"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("run --data 1GB --format csv --key k --cloud aws", "--format: generated data is records; name data of yours"),
        ("run --data 1GB -z --cloud emulated", "-z: generated data is records"),
        (f"run {PLACE} --key 2,2n", "--key does not apply to records of 100 bytes"),
        (f"run {PLACE} --format records --unique", "--unique does not apply to records of 100 bytes"),
        (f"run {PLACE} -z", "-z does not apply to records of 100 bytes"),
        (f"run {PLACE} --format lines --no-header", "--no-header applies only with --format csv"),
        (f"run {PLACE} --format lines --header", "--header applies only with --format csv"),
        ("sort in.parquet out.parquet --format parquet --key k --header", "--header applies only with --format csv"),
        (f"run {PLACE} --format parquet --key k -z", "-z does not go with --format parquet"),
        ("cluster run r --model indy --input s3://b/in --key k", "--key does not apply to records of 100 bytes"),
        ("run --input s3://b/in --format csv --key k", "--input says nothing about this machine: add --cloud"),
    ],
)
def test_refused(words: str, reason: str) -> None:
    done = CliRunner().invoke(build(), words.split())
    assert isinstance(done.exception, BadInputError)
    assert reason in str(done.exception)
