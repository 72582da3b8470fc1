"""`planner.run`: the same run as from the shell, but silent, and nothing is rented without a yes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.api.rental_options import RentalOptions
from planner.api.run import Listeners, Work
from planner.errors import BadInputError, InfeasibleError
from planner.native import Progress
from planner.schemas.run_report import RunReport


@pytest.mark.parametrize("asked", [(), ("run", "--data", "1MB")])
def test_its_report_holds_the_words_that_the_user_gave(asked: tuple[str, ...], tmp_path: Path) -> None:
    report = planner.run(Work(data="1MB", model="indy", directory=tmp_path, asked=asked))
    assert report is not None
    assert report.asked == asked == RunReport.from_json(report.to_json()).asked


def test_a_run_on_this_machine_says_nothing_and_compares(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = planner.run(Work(data="1MB", model="indy", directory=tmp_path))
    assert report is not None and report.passed
    assert [check.records for check in report.checks] == [10_000]
    assert {phase.name for phase in report.phases} and all(phase.predicted_s > 0 for phase in report.phases)
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())


def test_listeners_hear_what_the_shell_would_show(tmp_path: Path) -> None:
    messages: list[str] = []
    watched: list[str] = []

    @contextmanager
    def watch(name: str) -> Iterator[Any]:
        watched.append(name)
        yield Progress()

    planner.run(
        Work(data="1MB", model="indy", directory=tmp_path), listeners=Listeners(say=messages.append, watch=watch)
    )
    assert messages[0] == f"measuring this machine's disk in {tmp_path}" and messages[1].startswith(
        "planned for the sort of"
    )
    assert {"generate", "validate"} <= {name.split()[0] for name in watched}


def test_what_was_planned_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = planner.recommend("2MB", model="indy", instance="i4i.large", nodes=1)
    report = planner.run(answer)
    assert report is not None and report.passed
    assert (report.plan.request.data_bytes, report.plan.request.model) == (2_000_000, "indy")
    assert report.asked == (), "no command asked for it"


def test_a_refused_plan_is_not_run() -> None:
    with pytest.raises(InfeasibleError):
        planner.run(planner.recommend("1TB", deadline="1s"))


@pytest.mark.parametrize("data", ["1GB", "150B"])
def test_nothing_is_rented_without_a_confirmation(data: str) -> None:
    with pytest.raises(BadInputError, match="confirm=True"):
        planner.run(data, rental=RentalOptions(cloud="aws"))
