"""`planner run` from end to end on Compute Engine and Azure: emulated clouds whose machines really run the sort."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bed import QUICK, Bed, Ended
from gcp_bed import GcpBed
from machine_room import MachineRoom, machine_room, write_stand_in_wheels
from watching import watched

from planner.provisioning.run_directory import RunDirectory
from planner.schemas.run_report import RunReport

PACE = replace(QUICK, poll_s=0.2)
RECORDS = 200_000
TOKEN = "the-token-of-the-account"
"""Which the emulated Google gives for the account's key."""

pytestmark = [pytest.mark.needs_root(why="machines are network namespaces"), pytest.mark.soak]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stand_in_wheels(tmp_path_factory.mktemp("wheelhouse") / "wheels")


@pytest.fixture(params=["gcp", "azure"])
def bed(request: pytest.FixtureRequest) -> Bed:
    made = request.getfixturevalue(request.param)
    assert isinstance(made, Bed)
    return made


@pytest.fixture
def room(bed: Bed, tmp_path: Path) -> Iterator[MachineRoom]:
    with machine_room(bed.machines_described, bed.show, tmp_path / "machines") as made:
        yield made


def ran(bed: Bed, wheels: Path, *more: str, kill_at: str | None = None) -> Ended:
    """Return how a run on two nodes and a spare has ended."""
    sizes = {"gcp": "n2-standard-4+1x*", "azure": "Standard_L8s_v3"}
    return bed.planner(
        *("run", "--cloud", bed.cloud, "--data", f"{RECORDS * 100}B", "--model", "daytona"),
        *("--instance", sizes[bed.cloud], "--nodes", "2", "--ssh-from", "203.0.113.7/32", "--wheelhouse", str(wheels)),
        *("--memory", "500MB", "--yes", "--screen-seconds", "1", "--screen-size", "20MB", *more),
        policy=PACE,
        within_s=300,
        kill_at=kill_at,
    )


def secrets_of(bed: Bed) -> list[str]:
    """Return what the caller's account is proved with; the emulated Azure asks for nothing."""
    if not isinstance(bed, GcpBed):
        return []
    account = json.loads(bed.account_file.read_text("utf-8"))
    return [account["private_key"].splitlines()[1], TOKEN]


def test_rented_measured_sorted_validated_and_gone(
    bed: Bed, room: MachineRoom, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report.json"
    monkeypatch.setattr(bed, "extra", {"PLANNER_MEASUREMENTS": str(tmp_path / "mine")})
    with watched(bed, room, account=secrets_of(bed)) as watcher:
        ended = ran(bed, wheels, "--out", str(out))
    assert ended.code == 0, ended.text
    watcher.require_hidden(ended.text)
    report = RunReport.from_json(out.read_text("utf-8"))
    assert report.passed and [check.records for check in report.checks] == [RECORDS] * 2
    assert report.cost is not None and report.cost.node_hours > 0
    pinned_blindly = "it is pinned at the first contact" in ended.text
    assert "measurements stored in" in ended.text
    assert pinned_blindly == (bed.cloud == "azure"), "Compute Engine tells the head's key on its console"
    assert not RunDirectory.open(bed.runs()[0]).key.exists()
    assert bed.left() == {} and room.made == {}


def test_kept_until_it_is_taken_down(bed: Bed, room: MachineRoom, wheels: Path) -> None:
    ended = ran(bed, wheels, "--keep")
    assert ended.code == 0, ended.text
    run = bed.runs()[0]
    assert f"planner cluster down {run}" in ended.text
    assert bed.machines() in (2, 3), "an idle spare goes, unless it is the head"
    assert bed.planner("cluster", "down", run, policy=PACE).code == 0
    assert bed.left() == {}


@pytest.mark.parametrize("way", ["down", "sweep"])
def test_killed_as_it_ends_a_slow_machine(bed: Bed, room: MachineRoom, wheels: Path, way: str) -> None:
    """The only change that a run makes in the cloud between its launch and its end."""
    room.caps = {0: 10}
    ended = ran(bed, wheels, kill_at=bed.ending)
    assert ended.code == -signal.SIGKILL, ended.text
    assert "ending 1 machines" in ended.text and bed.machines() >= 2
    run = bed.runs()[0]
    if way == "sweep":
        shutil.rmtree(bed.home)
    cleaned = bed.planner(*(bed.sweep if way == "sweep" else ("cluster", "down", run)), policy=PACE)
    assert cleaned.code == 0, cleaned.text
    assert bed.left() == {}
