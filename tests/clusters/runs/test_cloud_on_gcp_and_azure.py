"""`planner run` from end to end on Compute Engine and Azure: emulated clouds whose machines really run the sort."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from emulated_cloud import QUICK, EmulatedCloud, Ended
from emulated_gcp import EmulatedGcp
from emulated_machines import EmulatedMachines, emulated_machines
from secret_watcher import watch_for_secrets

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.schemas.run_report import RunReport

PACE = replace(QUICK, poll_s=0.2)
RECORDS = 200_000
TOKEN = "the-token-of-the-account"
"""The token that the emulated Google returns for the account's key."""

pytestmark = [pytest.mark.needs_root(why="machines are network namespaces"), pytest.mark.soak]


@pytest.fixture(params=["gcp", "azure"])
def cloud(request: pytest.FixtureRequest) -> EmulatedCloud:
    made = request.getfixturevalue(request.param)
    assert isinstance(made, EmulatedCloud)
    return made


@pytest.fixture
def machines(cloud: EmulatedCloud, tmp_path: Path) -> Iterator[EmulatedMachines]:
    with emulated_machines(cloud.machines_described, cloud.show, tmp_path / "machines") as made:
        yield made


def ran(cloud: EmulatedCloud, wheels: Path, *more: str, kill_at: str | None = None) -> Ended:
    """Return the end of a run on two nodes and a spare."""
    sizes = {"gcp": "n2-standard-32+4x*", "azure": "Standard_L8s_v3"}
    return cloud.planner(
        *("run", "--cloud", cloud.cloud, "--data", f"{RECORDS * 100}B", "--model", "daytona"),
        *(
            "--instance",
            sizes[cloud.cloud],
            "--nodes",
            "2",
            "--ssh-from",
            "203.0.113.7/32",
            "--wheelhouse",
            str(wheels),
        ),
        *("--memory", "500MB", "--yes", "--set", "screen-seconds=1,screen-size=20MB", *more),
        policy=PACE,
        within_s=300,
        kill_at=kill_at,
    )


def secrets_of(cloud: EmulatedCloud) -> list[str]:
    """Return the secrets that prove the caller's account; the emulated Azure asks for none."""
    if not isinstance(cloud, EmulatedGcp):
        return []
    account = json.loads(cloud.account_file.read_text("utf-8"))
    return [account["private_key"].splitlines()[1], TOKEN]


def test_rented_measured_sorted_validated_and_gone(
    cloud: EmulatedCloud, machines: EmulatedMachines, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report.json"
    monkeypatch.setattr(cloud, "extra", {"PLANNER_MEASUREMENTS": str(tmp_path / "mine")})
    with watch_for_secrets(cloud, machines, account=secrets_of(cloud)) as watcher:
        ended = ran(cloud, wheels, "--out", str(out))
    assert ended.code == 0, ended.text
    watcher.require_hidden(ended.text)
    report = RunReport.from_json(out.read_text("utf-8"))
    assert report.passed and [check.records for check in report.checks] == [RECORDS] * 2
    assert report.cost is not None and report.cost.node_hours > 0
    assert "measurements stored in" in ended.text
    assert "it is pinned at the first contact" not in ended.text, "the head's key is on its console"
    assert not RunDirectory.open(cloud.runs()[0]).key.exists()
    assert cloud.left() == {} and machines.are_gone()


def test_kept_until_it_is_taken_down(cloud: EmulatedCloud, machines: EmulatedMachines, wheels: Path) -> None:
    ended = ran(cloud, wheels, "--keep")
    assert ended.code == 0, ended.text
    run = cloud.runs()[0]
    assert f"planner cluster down {run}" in ended.text
    assert cloud.machines() in (2, 3), "an idle spare goes, unless it is the head"
    assert cloud.planner("cluster", "down", run, policy=PACE).code == 0
    assert cloud.left() == {}


@pytest.mark.parametrize("way", ["down", "sweep"])
def test_killed_as_it_ends_a_slow_machine(
    cloud: EmulatedCloud, machines: EmulatedMachines, wheels: Path, way: str
) -> None:
    """The only change that a run makes in the cloud between its launch and its end."""
    machines.caps = {0: 10}
    ended = ran(cloud, wheels, kill_at=cloud.ending)
    assert ended.code == -signal.SIGKILL, ended.text
    assert "ending 1 machine" in ended.text and cloud.machines() >= 2
    run = cloud.runs()[0]
    if way == "sweep":
        shutil.rmtree(cloud.home)
    cleaned = cloud.planner(*(cloud.sweep if way == "sweep" else ("cluster", "down", run)), policy=PACE)
    assert cleaned.code == 0, cleaned.text
    assert cloud.left() == {}


def test_a_fleet_is_rented_measured_and_gone(
    cloud: EmulatedCloud, machines: EmulatedMachines, wheels: Path, tmp_path: Path
) -> None:
    types = {"gcp": "n2-standard-32+4x375GB", "azure": "Standard_L8s_v3"}
    out = tmp_path / "fleet"
    ended = cloud.planner(
        *("bench", "fleet", "--cloud", cloud.cloud, "--instance", types[cloud.cloud], "--nodes", "3", "--yes"),
        *("--repeats", "1", "--seconds", "0.5", "--size", "20MB", "--out", str(out), "--wheelhouse", str(wheels)),
        *("--ssh-from", "203.0.113.7/32", "--max-cost", "20"),
        policy=PACE,
        within_s=300,
    )
    assert ended.code == 0, ended.text
    files = {path.name.split("-")[1] for path in out.iterdir()}
    assert files == {"disk", "small", "network"} and len(list(out.iterdir())) == 3 + 3 + 1, ended.text
    assert cloud.left() == {} and machines.are_gone()
