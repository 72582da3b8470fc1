"""Time of a shuffle job on a cluster, in seconds, as a smooth function of a few coefficients.

The two-phase model of Conley, Vahdat and Porter (SoCC 2015, section 3: a phase lasts as long as its slowest resource)
with the terms that frameworks add: compute, one serial stream, start-up and per-node overhead. With |.|_p the p-norm, a
maximum with a rounded corner:

    T = (startup + per_node n + |disk_1 + spill, net_1, cpu_1|_p + |disk_2 + spill, net_2, cpu_2, serial|_p) m^-memory

where m is the memory per core over 4 GB. `work` multiplies everything but `spill` and `serial`, as a job outputs its
result once; it is 1 for a job that passes over its data as a sort does.

Every coefficient but `memory` is stored as its logarithm, and so stays positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from planner.arrays import Floats

COEFFICIENTS: Final = {
    "startup": "s",
    "per_node": "s per node",
    "disk": "times the bytes of an ideal two-pass job",
    "network": "times the bytes of an ideal two-pass job",
    "cpu": "core GHz s per GB",
    "serial": "as STREAMS says",
    "spill": "passes over a disk for each GB that memory cannot hold",
    "work": "times what passing over the data as a sort does takes",
    "memory": "exponent",
}
"""Coefficients in the order of every coefficient array, with their units."""

Stream = Literal["core", "node", "disk", "network", "nothing"]
STREAMS: Final[dict[Stream, str]] = {
    "core": "GHz s per GB through one stream",
    "node": "core GHz s per GB through all cores of one node",
    "disk": "times the data through one node's disk or volume",
    "network": "times the data through one node's network",
    "nothing": "s per GB through one stream",
}
"""Possible limits of the one stream that does not spread over nodes, with the unit of `serial` under each; under
`nothing` it is equal for all machine types.
"""

OVERLAP: Final = 5.0
"""The p of the rounded maximum: 1 adds resources up, infinity overlaps them fully."""
_INSTANT_S: Final = 1e-300
"""Positive stand-in for a zero disk time, to divide by."""

USUAL_MEMORY_GB_PER_CORE: Final = 4.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """Jobs on clusters, one row each; every field has shape (rows,), every rate is that of one node.

    `*_passes_*` are the times that the data crosses a device in each phase, `unknown_specs` the number of the machine's
    figures replaced by usual ones, and `output_share` the share of the data that is output, which an option may give
    (1 without such an option), and `records` the expected ratio of the work to the runs' by records per GB (1 if
    unknown).
    """

    nodes: Floats
    data_gb: Floats
    cores: Floats
    clock_ghz: Floats
    memory_gb: Floats
    disk_gb_per_s: Floats
    network_gb_per_s: Floats
    usable_gb: Floats
    disk_passes_1: Floats
    disk_passes_2: Floats
    network_passes_1: Floats
    network_passes_2: Floats
    unknown_specs: Floats
    output_share: Floats
    records: Floats

    def __len__(self) -> int:
        return len(self.nodes)


class UnitSeconds(NamedTuple):
    """Seconds per unit of coefficient: `fixed` (2, rows), each phase (5, rows: disk, network, cpu, serial, spill),
    `log_memory` (rows,). Rows are the last axis, as numpy is slow along a short last axis.
    """

    fixed: Floats
    first: Floats
    second: Floats
    log_memory: Floats


TASK_SPILL: Final = 0.0625
"""Passes of a task's spill per pass of data read again: a spill is written and read once, regardless of the job's
iterations.
"""


class WorkingSet(NamedTuple):
    """Memory demand of a job: GB for each GB of data, which the cluster shares, and GB for each active core."""

    gb_per_gb: float = 0.0
    gb_per_core: float = 0.0

    def spilled_gb(self, work: Workload) -> Floats:
        """Return the GB that exceed the clusters' usable memory, shape (rows,)."""
        held = self.gb_per_gb * work.data_gb
        cached = np.sqrt(np.maximum(held - work.nodes * work.usable_gb, 0.0) * held)
        if not self.gb_per_core:
            return cached
        return cached + TASK_SPILL * work.data_gb * np.maximum(
            1 - work.usable_gb / (work.cores * self.gb_per_core), 0.0
        )


FITS: Final = WorkingSet()


class Shape(NamedTuple):
    """Differences between the terms of two explanations: the limit of the serial part, whether only `output_share` of
    the data passes there, whether `records` multiply the time, and the working set.
    """

    stream: Stream
    selective: bool = False
    by_records: bool = False
    working_set: WorkingSet = FITS


def unit_seconds(work: Workload, shape: Shape) -> UnitSeconds:
    """Return the seconds of each term of the model at a coefficient of 1."""
    stream, selective, by_records, working_set = shape
    share_gb = work.data_gb / work.nodes
    times = work.records if by_records else np.ones_like(share_gb)
    disk = share_gb / work.disk_gb_per_s
    network = share_gb / work.network_gb_per_s
    cpu = share_gb / (work.cores * work.clock_ghz) / 2
    serial = work.data_gb * (work.output_share if selective else 1.0) / _stream_rate(work, stream)
    spill = working_set.spilled_gb(work) / work.nodes / work.disk_gb_per_s / 2
    return UnitSeconds(
        fixed=times * np.stack([np.ones_like(share_gb), work.nodes]),
        first=times
        * np.stack([disk * work.disk_passes_1, network * work.network_passes_1, cpu, np.zeros_like(cpu), spill]),
        second=times * np.stack([disk * work.disk_passes_2, network * work.network_passes_2, cpu, serial, spill]),
        log_memory=np.log(work.memory_gb / work.cores / USUAL_MEMORY_GB_PER_CORE),
    )


def _stream_rate(work: Workload, stream: Stream) -> Floats:
    rates = {
        "core": work.clock_ghz,
        "node": work.cores * work.clock_ghz,
        "disk": work.disk_gb_per_s,
        "network": work.network_gb_per_s,
    }
    return rates.get(stream, np.ones_like(work.nodes))


def log_seconds(coefficients: Floats, units: UnitSeconds) -> tuple[Floats, Floats]:
    """Return log T, shape (..., rows), and its derivative by the coefficients, shape (..., 9, rows).

    `coefficients` has shape (..., 9); leading axes of both broadcast as in numpy.
    """
    scale, memory = np.exp(coefficients[..., :7, None]), coefficients[..., 8:]
    scale[..., :5, :] *= np.exp(coefficients[..., 7:8, None])
    fixed = units.fixed * scale[..., :2, :]
    phases = _phase(units.first * scale[..., 2:7, :]) + _phase(units.second * scale[..., 2:7, :])
    jacobian = np.empty((*fixed.shape[:-2], len(COEFFICIENTS), fixed.shape[-1]))
    jacobian[..., :2, :], jacobian[..., 2:7, :] = fixed, phases
    of_work = jacobian[..., :5, :].sum(axis=-2)
    seconds = of_work + jacobian[..., 5:7, :].sum(axis=-2)
    jacobian[..., 7, :] = of_work
    jacobian[..., :8, :] /= seconds[..., None, :]
    jacobian[..., 8, :] = -units.log_memory
    return np.log(seconds) - memory * units.log_memory, jacobian


def _phase(times: Floats) -> Floats:
    """Return the time that each row of `times` (disk, network, cpu, serial, spill) adds to a phase: a spill occupies
    the disks while cores and network continue.
    """
    busy = times[..., :4, :].copy()
    busy[..., 0, :] += times[..., 4, :]
    adds = np.empty_like(times)
    adds[..., :4, :] = _rounded_maximum(busy)
    of_disks = adds[..., 0, :] / np.maximum(busy[..., 0, :], _INSTANT_S)
    adds[..., 0, :], adds[..., 4, :] = of_disks * times[..., 0, :], of_disks * times[..., 4, :]
    return adds


def _rounded_maximum(times: Floats) -> Floats:
    """Return the p-norm S over the second-to-last axis, split into each row's part: x_i dS/dx_i, which sum to S."""
    largest = times.max(axis=-2, keepdims=True)
    share = times / largest
    square = share * share
    powers = square * square * share  # numpy is far slower at powers
    return np.asarray(largest * powers.sum(axis=-2, keepdims=True) ** (1 / OVERLAP - 1) * powers)
