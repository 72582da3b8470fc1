"""Measurements of this machine and of the network between machines: `planner.measure(...)`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Unpack, overload

from planner.api.progress import OnProgress, OnTime, reported, reported_time
from planner.config.paths import StrPath
from planner.schemas.door import Bytes, Count, Help, Seconds, checked
from planner.sorting.sort_job import Threads

if TYPE_CHECKING:
    from planner.api.arguments.sort_arguments import DiskArguments, NetArguments, SmallIoArguments, SortTestArguments
    from planner.measurement.instruments.disk import DiskBench
    from planner.measurement.instruments.net import NetBench
    from planner.measurement.instruments.small_io import SmallIo
    from planner.measurement.instruments.sort_rate import SortRate

DiskMode = Literal["mixed", "read", "write", "all"]
"""Half reads and half writes, only reads, only writes, or each of these in turn."""
DiskLayout = Literal["jbod", "raid0", "both"]
"""Each directory on its own, all striped as in RAID-0, or both in turn."""
Instrument = Literal["disk", "small-io", "net", "sort"]
_Mode = Annotated[DiskMode, Help("Read half and write half of them, only read, or only write.")]
_Length = Annotated[Seconds, Help("Length of each run.")]
_FileSize = Annotated[Bytes | None, Help("File in each directory; 2GB, or less on a full disk.", option="--size")]
_Repeats = Annotated[Count, Help("Runs of each kind; the median counts.", default="3; small-io 1")]
_MachineType = Annotated[str | None, Help("Machine type to note in the result: i4i.4xlarge.", option="--type")]


@overload
def measure(what: Literal["disk"], **options: Unpack[DiskArguments]) -> DiskBench: ...
@overload
def measure(what: Literal["small-io"], **options: Unpack[SmallIoArguments]) -> SmallIo: ...
@overload
def measure(what: Literal["net"], **options: Unpack[NetArguments]) -> NetBench: ...
@overload
def measure(what: Literal["sort"], **options: Unpack[SortTestArguments]) -> SortRate: ...
@checked
def measure(what: Instrument, **options: Any) -> DiskBench | SmallIo | NetBench | SortRate:
    """Measure disks under a sort's access pattern, small transfers, the network between agents, or the in-memory sort.

    Runs last `seconds` each, `repeats` times; the result is their median. An agent is `planner bench net --agent` on
    each machine, with the same token; `on_run` is called with the number of nodes before each run. Raises BadInputError
    for conflicting options, IoFailureError.

    >>> import planner
    >>> planner.measure("sort", data_bytes=1_000_000, threads=1, repeats=1).bytes_per_s_per_vcpu > 0
    True
    """
    result: DiskBench | SmallIo | NetBench | SortRate = INSTRUMENTS[what](**options)
    return result


@checked
def _measure_disks(
    *,
    directories: Annotated[
        Sequence[StrPath], Help("A directory on a disk to measure; several for several disks.", option="--dir")
    ],
    mode: _Mode = "mixed",
    layout: Annotated[
        DiskLayout, Help("Each directory on its own, striped into one as RAID-0 does, or both in turn.")
    ] = "jbod",
    seconds: _Length = 10,
    repeats: _Repeats = 3,
    file_bytes: _FileSize = None,
    queue_depth: Annotated[Count | None, Help("Transfers at once per directory; tried out otherwise.")] = None,
    machine_type: _MachineType = None,
    on_progress: OnTime | None = None,
) -> DiskBench:
    from planner.measurement.instruments import disk

    modes = [name for name in disk.MODES if mode in (name, "all")]
    layouts = [name for name in disk.LAYOUTS if layout in (name, "both")]
    trials_s = 0 if queue_depth else disk.TRIAL_S * len(disk.TRIED_DEPTHS)
    total_s = len(modes) * len(layouts) * (repeats * seconds + trials_s)
    with reported_time(("preparing files", "measuring"), on_progress, total_s=total_s) as progress:
        return disk.bench_disk(
            [Path(directory) for directory in directories],
            modes=modes,
            layouts=layouts,
            seconds=seconds,
            repeats=repeats,
            file_bytes=file_bytes,
            queue_depth=queue_depth,
            machine_type=machine_type,
            progress=progress,
        )


@checked
def _measure_small_io(
    *,
    directory: StrPath,
    mode: _Mode = "mixed",
    seconds: _Length = 10,
    repeats: _Repeats = 1,
    file_bytes: _FileSize = None,
    machine_type: _MachineType = None,
    on_progress: OnTime | None = None,
) -> SmallIo:
    from planner.measurement.instruments import small_io

    one_way = mode in ("read", "write")
    operations = [o for o in small_io.OPERATIONS if not one_way or o.writes == (mode == "write")]
    total_s = len(small_io.plan_runs(operations, seed=1, repeats=repeats)) * seconds
    with reported_time(("preparing the file", "measuring"), on_progress, total_s=total_s) as progress:
        return small_io.bench_small_io(
            Path(directory),
            seconds=seconds,
            operations=operations,
            repeats=repeats,
            file_bytes=file_bytes or small_io.USUAL_FILE_BYTES,
            machine_type=machine_type,
            progress=progress,
        )


@checked
def _measure_network(
    *,
    agents: Annotated[Sequence[str], Help("An agent's host:port; at least two.", option="--node")],
    token: str,
    seconds: _Length = 10,
    warm_up_s: Annotated[Seconds, Help("Length of the traffic before it counts.")] = 2,
    connections: Annotated[Count, Help("TCP connections per pair and direction.")] = 2,
    repeats: Annotated[Count, Help("Runs of each cluster size.")] = 1,
    doubling: Annotated[bool, Help("Measure 2 nodes, 4, 8, ... up to all.")] = False,
    machine_type: _MachineType = None,
    on_run: Callable[[int], None] | None = None,
) -> NetBench:
    from planner.measurement.instruments.net import bench_net

    return bench_net(
        agents,
        token=token,
        seconds=seconds,
        warm_up_s=warm_up_s,
        connections=connections,
        repeats=repeats,
        doubling=doubling,
        machine_type=machine_type,
        on_run=on_run or (lambda nodes: None),
    )


@checked
def _measure_sort(
    *,
    data_bytes: Annotated[
        Bytes, Help("How much to sort; memory for a little over twice as much is needed.", option="--size")
    ] = 1_000_000_000,
    threads: Threads = None,
    repeats: Annotated[Count, Help("Sorts that count; one more comes before them.")] = 5,
    machine_type: _MachineType = None,
    on_progress: OnProgress | None = None,
) -> SortRate:
    from planner.measurement.instruments.sort_rate import bench_sort

    with reported(["sort"], on_progress) as progress:
        return bench_sort(
            data_bytes=data_bytes,
            threads=threads or _vcpus(),
            repeats=repeats,
            machine_type=machine_type,
            progress=progress,
        )


def _vcpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


INSTRUMENTS: Final[dict[str, Callable[..., Any]]] = {
    "disk": _measure_disks,
    "small-io": _measure_small_io,
    "net": _measure_network,
    "sort": _measure_sort,
}
