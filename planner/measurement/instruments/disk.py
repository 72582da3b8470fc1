"""DiskBench: the storage path of a sort without the sort (Conley, Vahdat, Porter, SoCC 2015, section 4.2.1).

Records are read in large blocks from half the directories, dealt to random partitions and written to the other half; or
only read, or only written, as the paper did for block volumes (section 4.4). A single directory is both read and
written, and so is the one volume of all directories striped like RAID-0.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from planner.errors import BadInputError, IoFailureError
from planner.measurement.instruments.instrument import Origin, series_per_s, smallest_good_enough
from planner.native import Progress, core, run_interruptible
from planner.statistics.variance_components import log_sigma, within_runs

_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, kw_only=True)
class FileSystem:
    """A directory's file system; `device` and `kind` are None where the system does not report them."""

    directory: str
    device: str | None
    device_number: int
    kind: str | None
    free_bytes: int
    total_bytes: int


def file_system_of(directory: Path) -> FileSystem:
    """Return the file system of `directory`. Raises BadInputError unless it is a directory, IoFailureError if
    unreadable.
    """
    if not directory.is_dir():
        raise BadInputError(
            f"--dir {directory}: not a directory; create it, or name a mounted disk's", code="no-such-folder"
        )
    try:
        space, number = os.statvfs(directory), directory.stat().st_dev
    except OSError as error:
        raise IoFailureError(
            f"--dir {directory}: {error.strerror}; name a directory that can be written", code="io"
        ) from error
    device, file_system = _mount_of(number)
    return FileSystem(
        directory=str(directory),
        device=device,
        device_number=number,
        kind=file_system,
        free_bytes=space.f_bavail * space.f_frsize,
        total_bytes=space.f_blocks * space.f_frsize,
    )


def same_device_notes(systems: Sequence[FileSystem]) -> tuple[str, ...]:
    """Return a sentence for each device that holds several of the directories."""
    by_device: dict[int, list[str]] = {}
    for system in systems:
        by_device.setdefault(system.device_number, []).append(system.directory)
    return tuple(
        f"{' and '.join(shared)} lie on one file system: they do not work side by side"
        for shared in by_device.values()
        if len(shared) > 1
    )


def _mount_of(device_number: int) -> tuple[str | None, str | None]:
    """Return (device, file-system type) from the kernel's table of mounts."""
    if not _MOUNTS.exists():
        return None, None
    device_id = f"{os.major(device_number)}:{os.minor(device_number)}"
    for line in _MOUNTS.read_text(encoding="utf-8").splitlines():
        if line.split()[2] == device_id and (mount := re.search(r" - (\S+) (\S+) ", line)):
            return mount[2], mount[1]
    return None, None


Mode = Literal["mixed", "read", "write"]
MODES: Final[tuple[Mode, ...]] = ("mixed", "read", "write")
Layout = Literal["jbod", "raid0"]
"""Separate directories, or all striped into one volume."""
LAYOUTS: Final[tuple[Layout, ...]] = ("jbod", "raid0")
STRIPE_BYTES: Final = 512 << 10
"""mdadm's default chunk of an array, also that of Scalyr's study."""
USUAL_FILE_BYTES: Final = 2_000_000_000
TRIED_DEPTHS: Final = (1, 2, 4, 8, 16)
TRIAL_S: Final = 0.5
WARM_UP_S: Final = 0.2
"""Time until every stage works. Operations in flight when the clock starts also make up for those in flight when it
stops.
"""
_TRIAL_FILE_BYTES: Final = 256_000_000
_LEAST_FILE_BYTES: Final = 16_384_000


@dataclass(frozen=True, kw_only=True)
class VolumeRate:
    """One directory's part in a run: bytes/s over all of it and in each second or so (`series_bytes_per_s`)."""

    directory: str
    role: Literal["read", "write"]
    bytes_per_s: float
    series_bytes_per_s: tuple[float, ...]
    is_direct: bool
    is_preallocated: bool


@dataclass(frozen=True, kw_only=True)
class DiskRun:
    """One run of one mode; `read_bytes_per_s` and `write_bytes_per_s` sum the volumes, None for an unused direction."""

    mode: Mode
    layout: Layout
    seconds: float
    interval_s: float
    queue_depth: int
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    volumes: tuple[VolumeRate, ...]


@dataclass(frozen=True, kw_only=True)
class DiskRate:
    """The median of the runs of a mode and layout, with the lowest and highest of their total rates, in bytes/s.

    `within_run_sigma` and `across_runs_sigma` are standard deviations of ln rate from interval to interval of one run,
    and from run to run; None where there is only one.
    """

    mode: Mode
    layout: Layout
    repeats: int
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    lowest_total_bytes_per_s: float
    highest_total_bytes_per_s: float
    within_run_sigma: float | None
    across_runs_sigma: float | None


@dataclass(frozen=True, kw_only=True)
class DiskBench:
    """Result of DiskBench; `notes` name what limits or distorts it."""

    origin: Origin
    file_bytes: int
    file_systems: tuple[FileSystem, ...]
    runs: tuple[DiskRun, ...]
    notes: tuple[str, ...]

    @property
    def rates(self) -> tuple[DiskRate, ...]:
        """The rates, one for each mode and layout, in the order measured."""
        combinations = dict.fromkeys((run.mode, run.layout) for run in self.runs)
        return tuple(
            _rate([run for run in self.runs if (run.mode, run.layout) == combination]) for combination in combinations
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-able values."""
        return {
            **asdict(self.origin),
            "file_bytes": self.file_bytes,
            "file_systems": [asdict(system) for system in self.file_systems],
            "rates": [asdict(rate) for rate in self.rates],
            "runs": [asdict(run) for run in self.runs],
            "notes": list(self.notes),
        }


def bench_disk(
    directories: Sequence[Path],
    *,
    modes: Sequence[Mode] = ("mixed",),
    layouts: Sequence[Layout] = ("jbod",),
    seconds: float = 10,
    repeats: int = 3,
    queue_depth: int | None = None,
    file_bytes: int | None = None,
    machine_type: str | None = None,
    progress: Progress | None = None,
) -> DiskBench:
    """Measure each mode and layout `repeats` times for `seconds`, with `file_bytes` in each directory, and leave
    nothing behind. Several layouts are measured in turn, so that a drift of the disks affects all alike.

    Without a `queue_depth` a few are tried for each mode and layout and the smallest within 5% of the best is taken.
    Raises BadInputError for impossible arguments (RAID-0 of one directory among them), IoFailureError naming the
    directory when it cannot be written, is full or moves nothing, InterruptedRunError when interrupted.
    """
    if not directories or repeats < 1 or not seconds > 0:
        raise BadInputError(
            "name at least one --dir, and measure at least once for more than 0 seconds", code="missing-argument"
        )
    if "raid0" in layouts and len(directories) < 2:
        raise BadInputError("RAID-0 stripes over several disks: name a --dir on each of at least two", code="too-few")
    systems = tuple(file_system_of(directory) for directory in directories)
    size = _fitting_file_bytes(systems) if file_bytes is None else file_bytes
    measure = partial(run_disk, directories, progress=Progress() if progress is None else progress)
    runs: list[DiskRun] = []
    for mode in modes:
        depths = {
            layout: queue_depth or _choose_depth(partial(measure, mode=mode, layout=layout), file_bytes=size)
            for layout in layouts
        }
        runs += [
            measure(mode=mode, layout=layout, seconds=seconds, queue_depth=depth, file_bytes=size)
            for _ in range(repeats)
            for layout, depth in depths.items()
        ]
    _raise_if_still(runs)
    origin = Origin(
        instrument="diskbench",
        method="records read in blocks of 4,096,000 bytes, dealt to random partitions, written in chunks of 1,024,000",
        machine_type=machine_type,
        nodes=1,
        repeats=repeats,
    )
    notes = (*same_device_notes(systems), *_caching_notes(runs))
    return DiskBench(origin=origin, file_bytes=size, file_systems=systems, runs=tuple(runs), notes=notes)


def run_disk(
    directories: Sequence[Path],
    *,
    mode: Mode,
    seconds: float,
    queue_depth: int,
    file_bytes: int,
    layout: Layout = "jbod",
    progress: Progress | None = None,
) -> DiskRun:
    """Measure one mode once. Raises as `bench_disk` does."""
    readable, writable = _roles([str(directory) for directory in directories], mode=mode, layout=layout)
    interval_s = min(1.0, seconds / 5)
    volume_results = run_interruptible(
        lambda watched: core.bench_disk(
            readable,
            writable,
            seconds=seconds,
            warm_up_s=WARM_UP_S,
            interval_s=interval_s,
            file_bytes=file_bytes,
            queue_depth=queue_depth,
            stripe_bytes=STRIPE_BYTES if layout == "raid0" else 0,
            progress=watched,
        ),
        progress,
    )
    volumes = tuple(_volume(volume, seconds=seconds, interval_s=interval_s) for volume in volume_results)
    return DiskRun(
        mode=mode,
        layout=layout,
        seconds=seconds,
        interval_s=interval_s,
        queue_depth=queue_depth,
        read_bytes_per_s=_sum_of("read", volumes),
        write_bytes_per_s=_sum_of("write", volumes),
        volumes=volumes,
    )


def _raise_if_still(runs: Sequence[DiskRun]) -> None:
    still = [
        f"--dir {volume.directory}: nothing was {'read' if volume.role == 'read' else 'written'} in {run.seconds:g} s"
        for run in runs
        for volume in run.volumes
        if not volume.bytes_per_s
    ]
    if still:
        raise IoFailureError(
            "some disks moved nothing; measure for longer, or look at these disks", still, code="nothing-moved"
        )


def _roles(directories: list[str], *, mode: Mode, layout: Layout) -> tuple[list[str], list[str]]:
    """Return the directories to read and those to write: all for both in an array, which cannot be split; of an odd
    number of single ones, one more is written.
    """
    if mode == "read":
        return directories, []
    if mode == "write":
        return [], directories
    half = len(directories) // 2
    parted = half > 0 and layout == "jbod"
    return (directories[:half], directories[half:]) if parted else (directories, directories)


def _fitting_file_bytes(systems: Sequence[FileSystem]) -> int:
    """Return the usual file size, or less if two files in each directory would take over half of the free space."""
    per_device: dict[int, int] = {}
    for system in systems:
        per_device[system.device_number] = per_device.get(system.device_number, 0) + 2
    room = min(system.free_bytes // 2 // per_device[system.device_number] for system in systems)
    return max(min(USUAL_FILE_BYTES, room), _LEAST_FILE_BYTES)


def _choose_depth(measure: Callable[..., DiskRun], *, file_bytes: int) -> int:
    size = min(file_bytes, _TRIAL_FILE_BYTES)
    trials = [measure(seconds=TRIAL_S, queue_depth=depth, file_bytes=size) for depth in TRIED_DEPTHS]
    return smallest_good_enough([(run.queue_depth, _total(run)) for run in trials])


def _volume(result: dict[str, Any], *, seconds: float, interval_s: float) -> VolumeRate:
    return VolumeRate(
        directory=result["directory"],
        role="write" if result["is_written"] else "read",
        bytes_per_s=result["bytes"] / seconds,
        series_bytes_per_s=series_per_s(result["bytes_by_interval"], interval_s=interval_s),
        is_direct=result["is_direct"],
        is_preallocated=result["is_preallocated"],
    )


def _sum_of(role: str, volumes: Sequence[VolumeRate]) -> float | None:
    rates = [volume.bytes_per_s for volume in volumes if volume.role == role]
    return sum(rates) if rates else None


def _total(run: DiskRun) -> float:
    return (run.read_bytes_per_s or 0) + (run.write_bytes_per_s or 0)


def _rate(runs: Sequence[DiskRun]) -> DiskRate:
    totals = [_total(run) for run in runs]
    return DiskRate(
        mode=runs[0].mode,
        layout=runs[0].layout,
        repeats=len(runs),
        read_bytes_per_s=_median([run.read_bytes_per_s for run in runs]),
        write_bytes_per_s=_median([run.write_bytes_per_s for run in runs]),
        lowest_total_bytes_per_s=min(totals),
        highest_total_bytes_per_s=max(totals),
        within_run_sigma=within_runs([_total_series(run) for run in runs]),
        across_runs_sigma=log_sigma(totals),
    )


def _total_series(run: DiskRun) -> list[float]:
    """Return the total rate of all volumes in each interval."""
    return [sum(rates) for rates in zip(*(volume.series_bytes_per_s for volume in run.volumes), strict=True)]


def _median(values: Sequence[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return statistics.median(measured) if measured else None


def _caching_notes(runs: Sequence[DiskRun]) -> tuple[str, ...]:
    """Return a sentence for each directory whose file system distorts a measurement."""
    notes: dict[str, None] = {}
    for volume in (volume for run in runs for volume in run.volumes):
        if not volume.is_direct:
            notes[f"{volume.directory}: direct I/O refused; the page cache takes part in these rates"] = None
        if not volume.is_preallocated:
            notes[f"{volume.directory}: no space can be reserved; writes include allocating it"] = None
    return tuple(notes)
