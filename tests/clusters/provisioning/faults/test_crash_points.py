"""A run killed after any single call leaves nothing that `down`, and separately `sweep`, do not find and remove."""

from __future__ import annotations

import shutil

import pytest
from emulated_cloud import EmulatedCloud

KILLED = -9
PARTS = 8


def calls_of(cloud: EmulatedCloud, *arguments: str) -> int:
    before = len(cloud.proxy.seen)
    ended = cloud.planner(*arguments)
    assert ended.code == 0, ended.text
    return len(cloud.proxy.seen) - before


def begin_anew(cloud: EmulatedCloud) -> None:
    cloud.world(**cloud.slow)
    shutil.rmtree(cloud.home, ignore_errors=True)


def clean_up(cloud: EmulatedCloud, way: str) -> None:
    """Remove what a killed command left, with `down` and the state file or with `sweep` and no state."""
    runs = cloud.runs()
    if way == "sweep":
        shutil.rmtree(cloud.home, ignore_errors=True)
        ended = cloud.planner(*cloud.sweep)
        assert ended.code == 0, ended.text
        return
    for run in runs:
        ended = cloud.planner("cluster", "down", run)
        assert ended.code == 0, ended.text


def killed_going_up(cloud: EmulatedCloud, point: int, way: str) -> None:
    begin_anew(cloud)
    assert cloud.planner(*cloud.up, kill_at=point).code == KILLED
    clean_up(cloud, way)
    assert cloud.left() == {}, f"up killed after its call {point}, then {way}"


def killed_going_down(cloud: EmulatedCloud, point: int, way: str) -> None:
    begin_anew(cloud)
    calls_of(cloud, *cloud.up)
    assert cloud.machines() == 4
    assert cloud.planner("cluster", "down", cloud.runs()[0], kill_at=point).code == KILLED
    clean_up(cloud, way)
    assert cloud.left() == {}, f"down killed after its call {point}, then {way}"


def points(cloud: EmulatedCloud) -> tuple[int, int]:
    """Return the numbers of calls that up and down make when nothing goes wrong."""
    begin_anew(cloud)
    going_up = calls_of(cloud, *cloud.up)
    going_down = calls_of(cloud, "cluster", "down", cloud.runs()[0])
    assert cloud.left() == {}
    return going_up, going_down


@pytest.mark.soak
@pytest.mark.quick
def test_killed_at_some_points(cloud: EmulatedCloud) -> None:
    going_up, going_down = points(cloud)
    launched = [n for n, action in enumerate(cloud.proxy.actions(), 1) if action == cloud.launching][-2:]
    for point, way in zip(launched, ("down", "sweep"), strict=True):
        killed_going_up(cloud, point, way)
    killed_going_up(cloud, launched[0] - 3, "sweep")
    killed_going_down(cloud, going_down // 3, "sweep")
    killed_going_down(cloud, 2 * going_down // 3, "down")
    assert going_up > 20


@pytest.mark.soak
@pytest.mark.parametrize("way", ["down", "sweep"])
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_every_point(cloud: EmulatedCloud, way: str, part: int) -> None:
    going_up, going_down = points(cloud)
    upward, downward = range(1 + part, going_up + 1, PARTS), range(1 + part, going_down + 1, PARTS)
    for point in upward:
        killed_going_up(cloud, point, way)
    for point in downward:
        killed_going_down(cloud, point, way)
    seen = f"{len(upward)} of {going_up} points up, {len(downward)} of {going_down} down"
    print(f"{cloud.cloud}, then {way}: {seen}, none left")
