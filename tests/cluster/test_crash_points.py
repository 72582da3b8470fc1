"""Killed after any single call, a run leaves nothing that `down`, and separately `sweep`, do not find and remove."""

from __future__ import annotations

import shutil

import pytest
from ec2_bed import Ec2Bed

KILLED = -9
PARTS = 8
SWEEP = ("cluster", "sweep", "--region", "us-east-1", "--all", "--yes")


def calls_of(ec2: Ec2Bed, *arguments: str) -> int:
    before = len(ec2.proxy.seen)
    ended = ec2.planner(*arguments)
    assert ended.code == 0, ended.text
    return len(ec2.proxy.seen) - before


def begin_anew(ec2: Ec2Bed) -> None:
    ec2.world(starting_polls=1, ending_polls=1)
    shutil.rmtree(ec2.home, ignore_errors=True)


def clean_up(ec2: Ec2Bed, way: str) -> None:
    """Remove what a killed command left, by `down` with the state file or by `sweep` without it."""
    runs = ec2.runs()
    if way == "sweep":
        shutil.rmtree(ec2.home, ignore_errors=True)
        ended = ec2.planner(*SWEEP)
        assert ended.code == 0, ended.text
        return
    for run in runs:
        ended = ec2.planner("cluster", "down", run)
        assert ended.code == 0, ended.text


def killed_going_up(ec2: Ec2Bed, point: int, way: str) -> None:
    begin_anew(ec2)
    assert ec2.planner(*ec2.up, kill_at=point).code == KILLED
    clean_up(ec2, way)
    assert ec2.left() == {}, f"up killed after its call {point}, then {way}"


def killed_going_down(ec2: Ec2Bed, point: int, way: str) -> None:
    begin_anew(ec2)
    calls_of(ec2, *ec2.up)
    assert ec2.left()["instance"] == 4
    assert ec2.planner("cluster", "down", ec2.runs()[0], kill_at=point).code == KILLED
    clean_up(ec2, way)
    assert ec2.left() == {}, f"down killed after its call {point}, then {way}"


def points(ec2: Ec2Bed) -> tuple[int, int]:
    """Return how many calls up and down make when nothing goes wrong."""
    begin_anew(ec2)
    going_up = calls_of(ec2, *ec2.up)
    going_down = calls_of(ec2, "cluster", "down", ec2.runs()[0])
    assert ec2.left() == {}
    return going_up, going_down


def test_killed_at_some_points(ec2: Ec2Bed) -> None:
    going_up, going_down = points(ec2)
    launched = [n for n, action in enumerate(ec2.proxy.actions(), 1) if action == "RunInstances"][-2:]
    for point, way in zip(launched, ("down", "sweep"), strict=True):
        killed_going_up(ec2, point, way)
    killed_going_up(ec2, launched[0] - 14, "sweep")
    killed_going_down(ec2, going_down // 3, "sweep")
    killed_going_down(ec2, 2 * going_down // 3, "down")
    assert going_up > 60


@pytest.mark.soak
@pytest.mark.parametrize("way", ["down", "sweep"])
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_every_point(ec2: Ec2Bed, way: str, part: int) -> None:
    going_up, going_down = points(ec2)
    upward, downward = range(1 + part, going_up + 1, PARTS), range(1 + part, going_down + 1, PARTS)
    for point in upward:
        killed_going_up(ec2, point, way)
    for point in downward:
        killed_going_down(ec2, point, way)
    print(f"EC2, then {way}: {len(upward)} of {going_up} points up, {len(downward)} of {going_down} down, none left")
