"""`planner.generate` and `planner.validate` return a result, print nothing and report progress by callback."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refused

import planner
from planner.api.progress import Step
from planner.errors import BadInputError, ValidationFailedError


def test_generated_records_are_no_sorted_data(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = planner.generate(tmp_path / "in.dat", records=1000)
    validation = planner.validate(tmp_path / "in.dat")
    assert made.bytes_written == 100_000
    assert validation.report.records == 1000
    assert not validation.passed
    with pytest.raises(ValidationFailedError, match="out of order"):
        validation.require()
    assert capfd.readouterr() == ("", "")


def test_what_went_in_is_compared(tmp_path: Path) -> None:
    first, other = tmp_path / "one.dat", tmp_path / "other.dat"
    planner.generate(first, records=1)
    planner.generate(other, records=1, start=1)
    assert planner.validate(first, input=[first]).passed
    assert not planner.validate(first, input=[other]).passed
    with refused("not-sorted", kind=ValidationFailedError):
        planner.validate(first, input=[other]).require()


def test_progress_comes_by_callback(tmp_path: Path) -> None:
    steps: list[Step] = []
    planner.generate(tmp_path / "in.dat", size_bytes=600_000_000, threads=1, on_progress=steps.append)
    assert {step.phase for step in steps} == {"generate"}
    assert [step.bytes_done for step in steps] == sorted(step.bytes_done for step in steps)
    assert steps[-1].bytes_done == 600_000_000


def test_short_work_is_reported_at_its_end(tmp_path: Path) -> None:
    steps: list[Step] = []
    planner.generate(tmp_path / "in.dat", records=10, on_progress=steps.append)
    assert steps[-1].bytes_done == 1000


@pytest.mark.parametrize("amount", [{}, {"records": 1, "size_bytes": 100}, {"size_bytes": 150}])
def test_an_amount_is_given_once_and_whole(tmp_path: Path, amount: dict[str, int]) -> None:
    with pytest.raises(BadInputError):
        planner.generate(tmp_path / "in.dat", **amount)
    assert not (tmp_path / "in.dat").exists()


def test_generated_data_go_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInputError) as refused:
        planner.generate("-", records=1)
    assert refused.value.code == "no-pipe"
    assert not list(tmp_path.iterdir())
