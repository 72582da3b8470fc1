"""The journal of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulated_ec2 import choice, order
from refusals import refused

from planner.clouds.protocol import Resource
from planner.clusters.provisioning.run_directory import JOURNAL, RunDirectory, known_runs
from planner.errors import BadInputError


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path))
    return RunDirectory.create(order("r1", choice()))


def made(directory: RunDirectory, region: str) -> None:
    directory.made(Resource(kind="vpc", id="vpc-1", region=region, run="r1"))


def test_the_order_and_the_regions_come_back(directory: RunDirectory) -> None:
    for region in ("us-west-2", "us-east-1", "us-west-2"):
        directory.intend("vpc", name="network", region=region)
    assert directory.regions() == ("us-west-2", "us-east-1")
    assert RunDirectory.open("r1").order().choices == (choice(),)
    assert known_runs() == ("r1",)


def test_an_intent_without_an_answer_leaves_the_run_unsure(directory: RunDirectory) -> None:
    assert not directory.unsure()
    directory.intend("vpc", name="network", region="us-east-1")
    assert directory.unsure()
    made(directory, "us-east-1")
    assert not directory.unsure()


def test_a_line_that_a_crash_cut_off_is_left_out(directory: RunDirectory) -> None:
    with (directory.path / JOURNAL).open("a") as journal:
        journal.write('{"at": "2026-11-21T12:00:00+00:00", "what": "int')
    assert [event.what for event in directory.events()] == ["order"]


def test_what_follows_a_line_that_was_cut_off_is_read(directory: RunDirectory) -> None:
    """A full disk cuts off a line. The teardown used to continue it, and no command could read the journal again."""
    with (directory.path / JOURNAL).open("a") as journal:
        journal.write('{"at": "2026-11-21T12:00:00+00:00", "what": "int')
    directory.note("down", removed=0)
    directory.note("ended", nodes=[])
    assert [event.what for event in directory.events()] == ["order", "down", "ended"]


def test_only_one_process_works_on_a_run(directory: RunDirectory) -> None:
    at_work = pytest.raises(BadInputError, match="run r1: another process is at work on it")
    with directory.lock(), at_work, directory.lock():
        pass
    with directory.lock():
        pass


def test_an_unknown_run_names_the_nearest(directory: RunDirectory) -> None:
    assert directory.path.name == "r1"
    with refused("no-such-run", "r2", "r1"):
        RunDirectory.open("r2")
