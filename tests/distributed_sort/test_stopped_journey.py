"""Processes of a node that stop without ending: the node is named before it is given up, and its work moves."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planner.distributed_sort.job.waiting import _UNANSWERED_S
from tests.distributed_sort.test_sort_journey import ALONE, COORDINATED, MAP, REDUCE, check, generated
from tests.marks import QUICK_SOAK

if TYPE_CHECKING:
    from conftest import SortCluster

NODE = 2
LONGEST_S = 120
"""For all of a sort of 30 MB, including half a minute to be sure that a process does not answer."""


class Stopper:
    """Stops processes of the node as soon as part of a phase is done, and records later events with their times."""

    def __init__(self, cluster: SortCluster, *, name: str, phase: str) -> None:
        self._cluster, self._name, self._phase = cluster, name, phase
        self.stopped: list[int] = []
        self.said: list[tuple[float, dict[str, Any]]] = []
        self._began_s = 0.0

    def __call__(self, event: dict[str, Any]) -> None:
        if self.stopped:
            self.said.append((time.monotonic() - self._began_s, event))
        elif event["event"] == "progress" and event["phase"] == self._phase:
            self.stopped, self._began_s = self._cluster.processes(NODE, self._name), time.monotonic()
            self.send(signal.SIGSTOP)

    def send(self, number: int) -> None:
        for pid in self.stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


@pytest.fixture
def stoppers(sort_cluster: SortCluster) -> Iterator[list[Stopper]]:
    begun: list[Stopper] = []
    yield begun
    for stopper in begun:
        stopper.send(signal.SIGKILL)
    sort_cluster.restart(NODE)


@pytest.mark.needs_root(why="stops processes in network namespaces")
@pytest.mark.parametrize(
    ("name", "phase", "nodes_each"),
    [
        ("ray::", MAP, ALONE),
        pytest.param("ray::NodeService", MAP, ALONE, marks=QUICK_SOAK),
        pytest.param("ray::", REDUCE, ALONE, marks=QUICK_SOAK),
        pytest.param("ray::", MAP, COORDINATED, marks=QUICK_SOAK),
        pytest.param("ray::", REDUCE, COORDINATED, marks=QUICK_SOAK),
    ],
)
def test_a_node_that_stops_is_named_and_its_work_moves(
    sort_cluster: SortCluster, tmp_path: Path, stoppers: list[Stopper], name: str, phase: str, nodes_each: int
) -> None:
    source = generated(sort_cluster, "stopped-in")
    stopper = Stopper(sort_cluster, name=name, phase=phase)
    stoppers.append(stopper)
    output, report = sort_cluster.sort(
        source, tmp_path / "j", output="stopped", on_event=stopper, nodes_per_coordinator=nodes_each
    )
    check(source, output)
    if phase == MAP:  # in phase two Ray may start other processes there, and the service is not needed
        assert report["lost_nodes"] == ["node-2"]
    named = [at_s for at_s, event in stopper.said if event["event"] == "waiting" and "node-2" in event["nodes"]]
    assert named[0] < _UNANSWERED_S  # test_silence.py has the exact time, by a clock that no load delays
    assert stopper.said[-1][0] < LONGEST_S
