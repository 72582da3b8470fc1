"""A run that outlives its caller: killed, cut off or detached, it goes on and can be attached to."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines
from rented_runs import PACE, RECORDS, run_words, signalling

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.schemas.run_report import RunReport

pytestmark = pytest.mark.needs_root(why="machines are network namespaces")


def attached(ec2: EmulatedEc2, wheels: Path) -> RunReport:
    """Attach to the only run, and return its report once nothing is left."""
    (run,) = ec2.runs()
    ended = ec2.planner("cluster", "attach", run, "--wheelhouse", str(wheels), policy=PACE, within_s=300)
    assert ended.code == 0, ended.text
    assert ec2.left() == {}
    return RunReport.from_json((RunDirectory.open(run).path / "report.json").read_text("utf-8"))


def assert_passed(report: RunReport) -> None:
    assert report.passed and [check.records for check in report.checks] == [RECORDS] * 2
    assert list(report.steps_s)[-1] == "take down" and {"equip", "measure", "start Ray", "sort"} <= set(report.steps_s)


@pytest.mark.soak
@pytest.mark.parametrize("word", ["bringing", "measuring the disks", "ending 1 machine", "generate", "sort"])
def test_killed_and_attached(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path, word: str) -> None:
    machines.caps = {0: 10}
    ended = ec2.planner(*run_words(wheels), policy=PACE, within_s=300, meanwhile=signalling(signal.SIGKILL, word))
    assert ended.code == -signal.SIGKILL, ended.text
    assert_passed(attached(ec2, wheels))


@pytest.mark.soak
@pytest.mark.quick
def test_detached_looked_at_and_attached(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path) -> None:
    ended = ec2.planner(*run_words(wheels, "--detach"), policy=PACE, within_s=300)
    (run,) = ec2.runs()
    assert ended.code == 0 and f"planner cluster attach {run}" in ended.text, ended.text
    waited = ec2.planner("cluster", "wait", run, policy=PACE, within_s=300)
    assert waited.code == 0 and f"run {run}: done" in waited.text, waited.text
    assert ec2.machines() >= 2, "waiting takes nothing down"
    logs = ec2.planner("cluster", "logs", run, policy=PACE)
    assert '{"event": "sorted"' in logs.text and '{"event": "result"' in logs.text
    assert_passed(attached(ec2, wheels))
    after = ec2.planner("cluster", "attach", run, policy=PACE)
    assert after.code == 2 and "nothing to attach to" in after.text, after.text


@pytest.mark.soak
def test_cut_off_for_forty_seconds(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path) -> None:
    """From the start of the sort, the head's link to its caller is down for longer than a connection may be silent."""
    restored: list[float] = []

    def cutting(_: int, output: str) -> bool:
        if "sort" not in output.splitlines():
            return False
        (head,) = (machine for machine in ec2.machines_described() if machine["public_address"])
        link = f"{machines.prefix}d{machines.made[head['id']]}"
        subprocess.run(["ip", "link", "set", link, "down"], check=True)
        time.sleep(40)
        subprocess.run(["ip", "link", "set", link, "up"], check=True)
        restored.append(time.monotonic())
        return True

    ended = ec2.planner(*run_words(wheels), policy=PACE, within_s=300, meanwhile=cutting)
    assert ended.code == 0 and restored, ended.text
    assert "the head answers again" in ended.text
    assert ec2.left() == {}


@pytest.mark.soak
def test_attached_to_nothing(ec2: EmulatedEc2, machines: EmulatedMachines) -> None:
    """A cluster without a job, and a job unknown to all commands."""
    assert ec2.planner(*ec2.up, policy=PACE).code == 0
    (run,) = ec2.runs()
    ended = ec2.planner("cluster", "attach", run, policy=PACE)
    assert ended.code == 2 and "has no job" in ended.text, ended.text
    assert ec2.machines() == 4, "a cluster without a job is left as it is"
    waited = ec2.planner("cluster", "wait", run, policy=PACE)
    assert waited.code == 2 and "has not begun" in waited.text
    assert ec2.planner("cluster", "down", run, policy=PACE).code == 0
