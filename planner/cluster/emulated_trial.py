"""What sorting on emulated nodes costs this machine's processors, which they share: a trial sort before the plan.

On machines of their own Ray's copies and the kernel's are hidden behind the network. Here N nodes' worth of them run on
one machine, so that rates above what its processors can feed are not reached, and a plan has to know.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from planner.cluster.ray_session import Session
from planner.providers.emulated.cluster import EmulatedCluster

_INPUT: Final = "input"
_OUTPUT: Final = "trial"
_WORK_OF: Final = {"map and shuffle": "partition", "sort and reduce": "sort"}
"""The kind of CPU work, in the models' terms, that each phase of a sort is."""
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class CpuMeter:
    """Hears a sort's events and counts, by phase, the processor seconds of all nodes' processes, and those in which the
    kernel carried packets between them.
    """

    def __init__(self, nodes: EmulatedCluster) -> None:
        self._nodes = nodes
        self._phase = ""
        self._before: dict[int, float] = {}
        self.spent_s: defaultdict[str, float] = defaultdict(float)

    def hear(self, event: dict[str, Any]) -> None:
        """Take note when a phase begins."""
        if event["event"] == "progress" and event["phase"] != self._phase:
            self.turn_to(event["phase"])

    def turn_to(self, phase: str) -> None:
        """Count what was spent up to now for the phase so far, and begin another."""
        now = self._counted()
        spent = sum(max(0.0, seconds - self._before.get(pid, 0.0)) for pid, seconds in now.items())
        self.spent_s[self._phase] += spent
        self._phase, self._before = phase, now

    def _counted(self) -> dict[int, float]:
        """Return processor seconds by process; those of interrupts, which belong to none, as process 0."""
        pids = [pid for node in range(self._nodes.workers + 1) for pid in self._nodes.pids(node)]
        found = {0: int(Path("/proc/stat").read_text().split()[7]) / _TICKS_PER_S}
        for pid in pids:
            with suppress(OSError):  # it has ended
                ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
                found[pid] = sum(map(int, ticks)) / _TICKS_PER_S
        return found


def measure_cpu(nodes: EmulatedCluster, session: Session, *, data_bytes: int, copies: int) -> dict[str, float] | None:
    """Return the bytes/s of each kind of CPU work that one of the machine's processors does for one node, while all
    others do as much: what sorting `data_bytes` costs more than a quarter of that, so that what does not grow with the
    data is left out.

    Returns None where nodes are plain processes, whose processor time cannot be told from others'. Raises what the sort
    raises.
    """
    if not nodes.is_shaped:
        return None
    few = _spent(nodes, session, data_bytes=data_bytes // 4, copies=copies, times=2)
    many = _spent(nodes, session, data_bytes=data_bytes, copies=copies, times=1)
    more = {phase: max(many[phase] - few[phase], 1 / _TICKS_PER_S) for phase in _WORK_OF}
    return {work: data_bytes * 3 / 4 / more[phase] / nodes.workers for phase, work in _WORK_OF.items()}


def _spent(
    nodes: EmulatedCluster, session: Session, *, data_bytes: int, copies: int, times: int
) -> Mapping[str, float]:
    """Return the processor seconds of each phase of the last of some sorts; the first starts processes."""
    source = session.do({"do": "generate", "records": data_bytes // 100}, lambda _: None)["dataset"]
    request = {"source": source, "output": _OUTPUT, "copies": copies}
    order = {"do": "sort", "request": request, "journal": str(nodes.directory(0) / "trial.journal")}
    meter = CpuMeter(nodes)
    for _ in range(times):
        meter = CpuMeter(nodes)
        session.do(order, meter.hear)
        meter.turn_to("")
    for node in range(1, nodes.workers + 1):
        for name in (_INPUT, _OUTPUT):
            shutil.rmtree(nodes.directory(node) / name, ignore_errors=True)
    return meter.spent_s
