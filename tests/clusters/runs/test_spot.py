"""A run that loses some machines, such as spot ones: it ends correctly, and others replace them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines
from rented_runs import PACE, RECORDS, run_words

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.schemas.run_report import RunReport

pytestmark = [pytest.mark.needs_root(why="machines are network namespaces"), pytest.mark.soak]


def taking_back(ec2: EmulatedEc2, word: str, *, machines: int = 1) -> Callable[[int, str], bool]:
    """End some machines other than the head, as the cloud would, once a line that begins with a word is printed."""

    def look(_: int, output: str) -> bool:
        if not any(line.startswith(word) for line in output.splitlines()):
            return False
        provider = ec2.provider()
        nodes = provider.nodes(ec2.runs()[0], region=ec2.region)
        working = [
            event.details["working"] for event in RunDirectory.open(ec2.runs()[0]).events() if event.what == "crew"
        ]
        spot = [node for node in nodes if not node.head and node.state == "running" and node.id in working[-1]]
        provider.terminate(spot[:machines])
        return True

    return look


@pytest.mark.parametrize(
    ("word", "model", "machines_lost"),
    [
        ("generate", "indy", 2),
        ("generate", "daytona", 1),
        ("generate", "daytona", 2),
        ("checksum of the input", "indy", 1),
        ("sort", "daytona", 1),
        ("sort", "indy", 1),
        ("validate", "indy", 1),
    ],
)
def test_machines_are_taken_back_and_the_run_ends_right(
    ec2: EmulatedEc2,
    machines: EmulatedMachines,
    wheels: Path,
    tmp_path: Path,
    word: str,
    model: str,
    machines_lost: int,
) -> None:
    out = tmp_path / "report.json"
    words = run_words(wheels, "--pricing", "spot", "--nodes", "3", "--model", model, "--out", str(out))
    ended = ec2.planner(*words, policy=PACE, within_s=400, meanwhile=taking_back(ec2, word, machines=machines_lost))
    assert ended.code == 0, ended.text
    report = RunReport.from_json(out.read_text("utf-8"))
    assert report.passed and report.checks[0].records == RECORDS, ended.text
    if (model, machines_lost) == ("daytona", 2):
        assert "joined: i-" in ended.text, "one machine cannot keep two copies"
    assert ec2.left() == {} and machines.are_gone()


def test_machines_on_demand_that_die_are_replaced_too(
    ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, tmp_path: Path
) -> None:
    """Two of three die: the remaining one cannot keep two copies, and the run used to end."""
    out = tmp_path / "report.json"
    words = run_words(wheels, "--nodes", "3", "--model", "daytona", "--out", str(out))
    ended = ec2.planner(*words, policy=PACE, within_s=400, meanwhile=taking_back(ec2, "generate", machines=2))
    assert ended.code == 0 and "joined: i-" in ended.text, ended.text
    report = RunReport.from_json(out.read_text("utf-8"))
    assert report.passed and [check.records for check in report.checks] == [RECORDS] * 2, ended.text
    assert ec2.left() == {} and machines.are_gone()


def test_without_room_for_another_spot_machine_one_on_demand_takes_the_place(
    ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, tmp_path: Path
) -> None:
    """There is only room for the launch's three spot machines, and the machines end before 95 of 100 runs."""
    ec2.world(spot_capacity=dict.fromkeys(ec2.zones, 3))
    out = tmp_path / "report.json"
    words = run_words(wheels, "--pricing", "spot", "--nodes", "3", "--model", "indy", "--out", str(out))
    ended = ec2.planner(*words, "--max-hours", "30m", policy=PACE, within_s=400, meanwhile=taking_back(ec2, "generate"))
    assert ended.code == 0, ended.text
    assert "replacing 1 machine: on-demand" in ended.text, ended.text
    assert RunReport.from_json(out.read_text("utf-8")).passed
    assert ec2.left() == {}
