"""A run whose caller is killed, asleep or cut off at any moment once its machines are up still ends correctly."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from emulated_ec2 import EmulatedEc2
from emulated_machines import EmulatedMachines
from rented_runs import PACE, RECORDS, run_words

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.schemas.run_report import RunReport

CASES = int(os.environ.get("PLANNER_TEST_CASES", "20"))
SEED = int(os.environ.get("PLANNER_TEST_SEED", "20261123"))
MOMENTS = {int(number) for number in os.environ.get("PLANNER_TEST_MOMENTS", "").split()}
"""Numbers of the cases to run, from 1: `PLANNER_TEST_MOMENTS="19 20"`. All cases if it is not set."""
ABSENT_S = 40
FIRST_WORD = "bringing"
"""The first word a run prints once its machines are up."""

Lose = Callable[[int], None]


def killed(process: int) -> None:
    os.kill(process, signal.SIGKILL)


def asleep(process: int) -> None:
    os.kill(process, signal.SIGSTOP)
    time.sleep(ABSENT_S)
    os.kill(process, signal.SIGCONT)


def cut_off(ec2: EmulatedEc2, machines: EmulatedMachines) -> Lose:
    def lose(_: int) -> None:
        (head,) = (machine for machine in ec2.machines_described() if machine["public_address"])
        link = f"{machines.prefix}d{machines.made[head['id']]}"
        subprocess.run(["ip", "link", "set", link, "down"], check=True)
        time.sleep(ABSENT_S)
        subprocess.run(["ip", "link", "set", link, "up"], check=False)  # the run may have ended its machines meanwhile

    return lose


class Moment:
    """Loses the caller after a given number of seconds with the machines up; `began` is when they came up."""

    def __init__(self, lose: Lose, after_s: float) -> None:
        self._lose, self._after_s = lose, after_s
        self.began: float | None = None
        self.lost = False

    def __call__(self, process: int, output: str) -> bool:
        if self.began is None and any(line.startswith(FIRST_WORD) for line in output.splitlines()):
            self.began = time.monotonic()
        if self.began is None or time.monotonic() < self.began + self._after_s:
            return False
        self._lose(process)
        self.lost = True
        return True


def drawn(seed: int) -> Iterator[tuple[str, float]]:
    """Yield the ways to lose the caller, in turn, with a share of an undisturbed run's time."""
    rng = random.Random(seed)
    for number in range(CASES):
        case = ("killed", "asleep", "cut off")[number % 3], rng.uniform(0, 0.9)
        if not MOMENTS or number + 1 in MOMENTS:
            yield case


@pytest.mark.soak
@pytest.mark.needs_root(why="machines are network namespaces")
def test_every_run_ends_right(ec2: EmulatedEc2, machines: EmulatedMachines, wheels: Path) -> None:
    undisturbed = Moment(killed, after_s=10_000)
    assert ec2.planner(*run_words(wheels), policy=PACE, within_s=300, meanwhile=undisturbed).code == 0
    assert undisturbed.began is not None
    whole_s = time.monotonic() - undisturbed.began
    print(f"seed {SEED}: undisturbed, a run takes {whole_s:.0f} s from when its machines are up")
    for manner, share in drawn(SEED):
        lose = {"killed": killed, "asleep": asleep, "cut off": cut_off(ec2, machines)}[manner]
        before, moment = set(ec2.runs()), Moment(lose, share * whole_s)
        ended = ec2.planner(*run_words(wheels), policy=PACE, within_s=400, meanwhile=moment)
        (run,) = set(ec2.runs()) - before
        if manner == "killed" and moment.lost:
            assert ended.code == -signal.SIGKILL, ended.text
            ended = ec2.planner("cluster", "attach", run, "--wheelhouse", str(wheels), policy=PACE, within_s=400)
        told = f"{manner} at {share:.2f}{'' if moment.lost else ', too late'}"
        assert ended.code == 0, f"{told}: {ended.text}"
        report = RunReport.from_json((RunDirectory.open(run).path / "report.json").read_text("utf-8"))
        assert report.passed and [check.records for check in report.checks] == [RECORDS] * 2, told
        assert ec2.left() == {}, told
        print(f"{told}: right, nothing left", flush=True)
