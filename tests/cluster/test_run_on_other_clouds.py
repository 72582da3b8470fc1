"""`planner run` from end to end on Compute Engine and Azure: emulated clouds whose machines really run the sort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from azure_bed import AzureBed
from bed import QUICK, Bed
from gcp_bed import GcpBed
from machine_room import MachineRoom, machine_room, write_stand_in_wheels

from planner.cluster.run_directory import RunDirectory
from planner.run_report import RunReport

PACE = replace(QUICK, poll_s=0.2)
RECORDS = 200_000

pytestmark = [pytest.mark.needs_root(why="machines are network namespaces"), pytest.mark.soak]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stand_in_wheels(tmp_path_factory.mktemp("wheelhouse") / "wheels")


@pytest.fixture(params=["gcp", "azure"])
def bed(request: pytest.FixtureRequest) -> GcpBed | AzureBed:
    made = request.getfixturevalue(request.param)
    assert isinstance(made, GcpBed | AzureBed)
    return made


@pytest.fixture
def room(bed: Bed, tmp_path: Path) -> Iterator[MachineRoom]:
    with machine_room(bed.machines_described, bed.show, tmp_path / "machines") as made:
        yield made


def test_rented_measured_sorted_validated_and_gone(
    bed: GcpBed | AzureBed, room: MachineRoom, wheels: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.json"
    sizes = {"gcp": "n2-standard-4+1x*", "azure": "Standard_L8s_v3"}
    ended = bed.planner(
        *("run", "--cloud", bed.cloud, "--data", f"{RECORDS * 100}B", "--model", "daytona"),
        *("--instance", sizes[bed.cloud], "--nodes", "2", "--ssh-from", "203.0.113.7/32", "--wheelhouse", str(wheels)),
        *("--memory", "500MB", "--yes", "--screen-seconds", "0.3", "--screen-size", "20MB", "--out", str(out)),
        pace=PACE,
        within_s=300,
    )
    assert ended.code == 0, ended.text
    report = RunReport.from_json(out.read_text("utf-8"))
    assert report.passed and [check.records for check in report.checks] == [RECORDS] * 2
    assert report.cost is not None and report.cost.node_hours > 0
    pinned_blindly = "it is pinned at the first contact" in ended.text
    assert pinned_blindly == (bed.cloud == "azure"), "Compute Engine tells the head's key on its console"
    assert not RunDirectory.open(bed.runs()[0]).key.exists()
    assert bed.left() == {} and room.made == {}
