"""CPUs that other jobs use are waited for, and it is said; the rest is tested on a cluster (the journey)."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from refusals import refused

from planner.distributed_sort.job import waiting as module
from planner.distributed_sort.job.waiting import CpuQueue, wait_for_cpus
from planner.errors import IoFailureError, UnfinishedError

OFFERED = {"id-a": 2.0, "id-b": 4.0}


def test_cpus_that_none_is_free_of_are_told_through_rays_client_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.util.client import ray as client

    free = {"CPU": 1.0}
    monkeypatch.setattr(client, "is_connected", lambda: True)
    monkeypatch.setattr(module, "_FREE_WITHIN_S", 0.2)
    ray, hosts = SimpleNamespace(available_resources=lambda: free), {"id-a": "10.0.0.1", "id-b": "10.0.0.2"}
    assert wait_for_cpus(ray, OFFERED, hosts=hosts, wait_s=0.0, emit=print) == OFFERED
    free.clear()
    with refused("no-free-cpus", "6 CPUs", "--wait", kind=IoFailureError):
        wait_for_cpus(ray, OFFERED, hosts=hosts, wait_s=0.0, emit=print)


class Clock:
    s = 0.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The free CPUs by node."""
    free = {"id-a": 0.5, "id-b": 4.0}
    monkeypatch.setattr(module, "free_cpus", lambda *_: dict(free))
    return free


def test_nodes_without_cpus_for_a_task_are_named_until_they_have_some(free: dict[str, float]) -> None:
    clock, events = Clock(), list[Any]()
    queue = CpuQueue(SimpleNamespace(), wait_s=100, clock=clock)
    idle = {"a": ("id-a", 0.6), "b": ("id-b", 1.3)}
    for clock.s in range(20):
        assert list(queue.find(idle, OFFERED, events.append)) == ["a"]
    assert [(event["nodes"], event["since_s"]) for event in events] == [(["a"], 8), (["a"], 16)]
    assert all("other jobs use the CPUs" in event["reason"] for event in events)
    free["id-a"] = 2.0
    clock.s = 25
    assert not queue.find(idle, OFFERED, events.append)


def test_a_sort_waits_for_cpus_no_longer_than_it_may(free: dict[str, float]) -> None:
    clock = Clock()
    queue = CpuQueue(SimpleNamespace(), wait_s=100, clock=clock)
    with refused("no-free-cpus", "other jobs have used the CPUs of a", kind=UnfinishedError):
        for clock.s in range(200):
            queue.find({"a": ("id-a", 0.6)}, OFFERED, lambda _: None)
    assert 100 < clock.s < 110
    clock.s += 50  # meanwhile tasks ran
    assert queue.find({"a": ("id-a", 0.6)}, OFFERED, lambda _: None), "its wait begins anew"


def test_a_head_that_does_not_answer_is_no_sign_of_busy_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: Any) -> dict[str, float]:
        raise ConnectionError

    monkeypatch.setattr(module, "free_cpus", silent)
    ray = SimpleNamespace(exceptions=SimpleNamespace(RayError=ConnectionError))
    assert not CpuQueue(ray).find({"a": ("id-a", math.inf)}, OFFERED, lambda _: None)
