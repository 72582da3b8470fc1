"""A trial sort before the plan: the load that emulated nodes put on this machine's shared processors and disk.

On real machines the network hides the copies that Ray and the kernel make. Here one machine makes the copies of all N
nodes, so its processors limit the rates, which the plan must include. N nodes that read, sort and write also get less
out of one disk than a single sort does.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import psutil

from planner.clusters.emulated.cluster import HEAD, EmulatedCluster
from planner.clusters.ray.driver_session import Session
from planner.cost_model.model import CostModel, Phase

_INPUT: Final = "input"
_OUTPUT: Final = "trial"
_WORK_OF: Final = {"map and shuffle": "partition", "sort and reduce": "sort"}
"""The CPU work of each phase of a sort, in the models' terms."""
_ON_DISK: Final = "sort and reduce"
SAMPLE: Final = "sample"
"""Name of the phase in which keys are sampled."""
_LEAST_BYTES: Final = 64_000_000
_MOST_BYTES: Final = 1_000_000_000
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


class CpuMeter:
    """Counts, by phase of a sort, the CPU seconds of all nodes' processes and those the kernel spent on packets between
    them.
    """

    def __init__(self, nodes: EmulatedCluster) -> None:
        self._nodes = nodes
        self._phase = ""
        self._before: dict[int, float] = {}
        self.spent_s: defaultdict[str, float] = defaultdict(float)
        self.head_s: defaultdict[str, float] = defaultdict(float)
        """The head's part of them: the driver's and Ray's own."""

    def on_event(self, event: dict[str, Any]) -> None:
        """Record the start of a phase."""
        if event["event"] == "progress" and event["phase"] != self._phase:
            self.begin_phase(event["phase"])

    def begin_phase(self, phase: str) -> None:
        """Add the seconds since the last call to the current phase, and begin another."""
        now = self._cpu_seconds()
        spent = {pid: max(0.0, seconds - self._before.get(pid, 0.0)) for pid, seconds in now.items()}
        self.spent_s[self._phase] += sum(spent.values())
        self.head_s[self._phase] += sum(spent.get(pid, 0.0) for pid in self._nodes.pids(HEAD))
        self._phase, self._before = phase, now

    def _cpu_seconds(self) -> dict[int, float]:
        """Return CPU seconds by process; software interrupts, which belong to no process, count as process 0."""
        seconds = {0: float(psutil.cpu_times().softirq)}
        for node in range(self._nodes.workers + 1):
            for pid in self._nodes.pids(node):
                with suppress(psutil.Error):  # ended already
                    times = psutil.Process(pid).cpu_times()
                    seconds[pid] = times.user + times.system
        return seconds


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Measurements of trial sorts on all nodes at once.

    `cpu_bytes_per_s` is one processor's rate for each kind of CPU work, for one node. `disk_bytes_per_s` is a node's
    rate of reading and simultaneous writing in the second phase. `sample_s` is the duration of the sample.
    """

    cpu_bytes_per_s: dict[str, float]
    disk_bytes_per_s: float
    sample_s: float

    def to_dict(self) -> dict[str, Any]:
        """Return the rates as JSON-able values."""
        return {"cpu_bytes_per_s_per_vcpu": self.cpu_bytes_per_s, "disk_bytes_per_s_per_node": self.disk_bytes_per_s}

    def apply_to(self, model: CostModel) -> CostModel:
        """Return a model that begins with the sample, a phase that moves almost no data."""
        sample = Phase(name=SAMPLE, read={}, write={}, network={}, cpu={}, startup_s=self.sample_s)
        return replace(model, phases=(sample, *model.phases))


def trial_size(data_bytes: int) -> int:
    """Return the size of a trial for a job: as large as the job, but at most about ten seconds' work."""
    return min(max(data_bytes, _LEAST_BYTES), _MOST_BYTES) // 400 * 400


def try_sort(nodes: EmulatedCluster, session: Session, *, data_bytes: int, copies: int) -> Trial | None:
    """Sort `data_bytes` on the nodes twice and measure the second sort; the first starts processes and touches memory.

    Returns None if nodes are plain processes, whose CPU time cannot be separated from other processes'. Raises whatever
    the sort raises.
    """
    if not nodes.is_shaped:
        return None
    _try_sort(nodes, session, data_bytes=data_bytes, copies=copies)
    spent = _try_sort(nodes, session, data_bytes=data_bytes, copies=copies)
    node_bytes = data_bytes / nodes.workers
    return Trial(
        cpu_bytes_per_s={work: node_bytes / max(spent.cpu_s[phase], _TICK_S) for phase, work in _WORK_OF.items()},
        disk_bytes_per_s=copies * node_bytes / spent.phases_s[_ON_DISK],
        sample_s=spent.phases_s[SAMPLE],
    )


@dataclass(frozen=True, kw_only=True)
class _Spent:
    """Processor seconds and elapsed seconds of each phase."""

    cpu_s: Mapping[str, float]
    phases_s: Mapping[str, float]


def _try_sort(nodes: EmulatedCluster, session: Session, *, data_bytes: int, copies: int) -> _Spent:
    """Sort, remove the files again, and return the time spent."""
    source = session.do({"do": "generate", "records": data_bytes // 100}, lambda _: None)["dataset"]
    request = {"source": source, "output": _OUTPUT, "copies": copies}
    order = {"do": "sort", "request": request, "journal": str(nodes.directory(0) / "trial.journal")}
    meter = CpuMeter(nodes)
    report = session.do(order, meter.on_event)["report"]
    meter.begin_phase("")
    for node in range(1, nodes.workers + 1):
        for name in (_INPUT, _OUTPUT):
            shutil.rmtree(nodes.directory(node) / name, ignore_errors=True)
    return _Spent(cpu_s=meter.spent_s, phases_s=report["phases_s"])
