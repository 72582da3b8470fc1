"""Jobs on machines as arrays of the physics: disk and network passes follow from where data is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.calibration.history import JobRow, as_number
from planner.calibration.machines import NodeSpec
from planner.calibration.physics import Workload
from planner.errors import BadInputError, nearest
from planner.units import count_text

OBJECT_STORES: Final = frozenset({"s3", "gcs", "gs", "blob", "oss", "object", "object store"})
LOCAL_STORES: Final = frozenset(
    {
        "",
        "local",
        "nvme",
        "ssd",
        "hdd",
        "disk",
        "ebs",
        "volume",
        "volumes",
        "gp2",
        "gp3",
        "st1",
        "io2",
        "hdfs",
        "memory",
        "none",
    }
)
PHYSICAL_OPTIONS: Final = frozenset({"io", "spill", "replicas"})
"""Columns with a meaning in the physics: place of input and output, place of the shuffle's spill, copies of the output.
"""


def workload(
    jobs: Sequence[JobRow],
    machines: Mapping[str, NodeSpec],
    *,
    share_option: str | None = None,
    records: Floats | float = 1.0,
) -> Workload:
    """Return the jobs as arrays; the column `share_option` gives the output's share of the data, `records` the expected
    ratio of each job's work to the runs'.

    Raises BadInputError naming the types that `machines` lacks.
    """
    machine_of_job = _machines_of(jobs, machines)
    nodes = np.array([float(job.nodes) for job in jobs])
    remote_io, remote_spill = (np.array([_is_remote(job, column) for job in jobs], float) for column in ("io", "spill"))
    extra_copies = np.array([_copies(job) - 1 for job in jobs], float)
    local_spill, crossing = 1 - remote_io * remote_spill, (nodes - 1) / nodes

    def column(name: str) -> Floats:
        return np.array([getattr(machine, name) for machine in machine_of_job], float)

    return Workload(
        nodes=nodes,
        data_gb=np.array([job.data_gb for job in jobs], float),
        cores=column("cores"),
        clock_ghz=column("clock_ghz"),
        memory_gb=column("memory_gb"),
        disk_gb_per_s=column("disk_gb_per_s"),
        network_gb_per_s=column("network_gb_per_s"),
        usable_gb=np.array(
            [_usable_gb(job, machine) for job, machine in zip(jobs, machine_of_job, strict=True)], float
        ),
        disk_passes_1=1 - remote_io + local_spill,
        disk_passes_2=(1 - remote_io) * (1 + extra_copies) + local_spill,
        network_passes_1=remote_io + crossing,
        network_passes_2=remote_io * 1.0 + extra_copies * crossing,
        unknown_specs=np.array([machine.unknown_specs for machine in machine_of_job]),
        output_share=np.array([_share(job, share_option) for job in jobs]),
        records=np.broadcast_to(records, len(jobs)),
    )


def _usable_gb(job: JobRow, machine: NodeSpec) -> float:
    """Return one node's memory for kept data and tasks: as observed for the run, else by the machine's type."""
    return machine.usable_gb if job.memory.usable_gb is None else job.memory.usable_gb / job.nodes


def _machines_of(jobs: Sequence[JobRow], machines: Mapping[str, NodeSpec]) -> list[NodeSpec]:
    unknown = sorted({job.instance_type for job in jobs} - machines.keys())
    if unknown:
        hints = [f"{name!r}: no specification.{nearest(name, list(machines))}" for name in unknown]
        hints += [
            "or a CSV says what they are: --instances FILE, in Python instances=; columns type, vcpu, mem_gib, ghz, ..."
        ]
        count = count_text(len(unknown), "machine type")
        raise BadInputError(
            f"{count} without specification; the table of runs may have it in columns vcpu, mem_gib",
            hints,
            code="no-specification",
        )
    return [machines[job.instance_type] for job in jobs]


def _is_remote(job: JobRow, column: str) -> bool:
    place = str(job.options.get(column, "")).casefold()
    if place not in OBJECT_STORES | LOCAL_STORES:
        raise BadInputError(f"column {column}: unknown storage {place!r}; use local or s3", code="unknown-word")
    return place in OBJECT_STORES


def _share(job: JobRow, column: str | None) -> float:
    share = None if column is None else as_number(job.options.get(column))
    return 1.0 if share is None else min(max(share, 0.0), 1.0)


def _copies(job: JobRow) -> float:
    copies = as_number(job.options.get("replicas"))
    return copies if copies is not None and copies >= 1 else 1.0
