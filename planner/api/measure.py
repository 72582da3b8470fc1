"""Measurements of this machine and of the network between machines: `planner.measure(...)`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from planner.api.progress import OnProgress, OnTime, reported, reported_time
from planner.schemas.door import Bytes, Count, Seconds, checked

if TYPE_CHECKING:
    from planner.measurement.instruments.disk import DiskBench
    from planner.measurement.instruments.net import NetBench
    from planner.measurement.instruments.small_io import SmallIo
    from planner.measurement.instruments.sort_rate import SortRate

StrPath = str | os.PathLike[str]
DiskMode = Literal["mixed", "read", "write", "all"]
"""Half reads and half writes, only reads, only writes, or each of these in turn."""
DiskLayout = Literal["jbod", "raid0", "both"]
"""Each directory on its own, all striped as in RAID-0, or both in turn."""
Instrument = Literal["disk", "small-io", "net", "sort"]


@overload
def measure(
    what: Literal["disk"],
    *,
    directories: Sequence[StrPath],
    mode: DiskMode = "mixed",
    layout: DiskLayout = "jbod",
    seconds: Seconds = 10,
    repeats: Count = 3,
    file_bytes: Bytes | None = None,
    queue_depth: Count | None = None,
    machine_type: str | None = None,
    on_progress: OnTime | None = None,
) -> DiskBench: ...
@overload
def measure(
    what: Literal["small-io"],
    *,
    directory: StrPath,
    mode: DiskMode = "mixed",
    seconds: Seconds = 10,
    repeats: Count = 1,
    file_bytes: Bytes | None = None,
    machine_type: str | None = None,
    on_progress: OnTime | None = None,
) -> SmallIo: ...
@overload
def measure(
    what: Literal["net"],
    *,
    agents: Sequence[str],
    token: str,
    seconds: Seconds = 10,
    warm_up_s: Seconds = 2,
    connections: Count = 2,
    repeats: Count = 1,
    doubling: bool = False,
    machine_type: str | None = None,
    on_run: Callable[[int], None] | None = None,
) -> NetBench: ...
@overload
def measure(
    what: Literal["sort"],
    *,
    data_bytes: Bytes = 1_000_000_000,
    threads: Count | None = None,
    repeats: Count = 5,
    machine_type: str | None = None,
    on_progress: OnProgress | None = None,
) -> SortRate: ...
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
    result: DiskBench | SmallIo | NetBench | SortRate = _INSTRUMENTS[what](**options)
    return result


@checked
def _measure_disks(
    *,
    directories: Sequence[StrPath],
    mode: DiskMode = "mixed",
    layout: DiskLayout = "jbod",
    seconds: Seconds = 10,
    repeats: Count = 3,
    file_bytes: Bytes | None = None,
    queue_depth: Count | None = None,
    machine_type: str | None = None,
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
    mode: DiskMode = "mixed",
    seconds: Seconds = 10,
    repeats: Count = 1,
    file_bytes: Bytes | None = None,
    machine_type: str | None = None,
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
    agents: Sequence[str],
    token: str,
    seconds: Seconds = 10,
    warm_up_s: Seconds = 2,
    connections: Count = 2,
    repeats: Count = 1,
    doubling: bool = False,
    machine_type: str | None = None,
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
    data_bytes: Bytes = 1_000_000_000,
    threads: Count | None = None,
    repeats: Count = 5,
    machine_type: str | None = None,
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


_INSTRUMENTS: Final[dict[str, Callable[..., Any]]] = {
    "disk": _measure_disks,
    "small-io": _measure_small_io,
    "net": _measure_network,
    "sort": _measure_sort,
}
