"""Processor time of coordinating a sort on many nodes: the real driver, real Ray, made-up nodes.

All nodes are one raylet, whose workers answer each task at once, with blocks that nobody fetches. Every made-up node is
a resource of its own, so Ray leases workers separately for each, as it does from many raylets. Two actors are the
services of all of them:

python benchmarks/cluster/bench_driver.py --nodes 178 --data 100TB --slices 500

Only the first `--slices` of the data are replayed, and the same share of the partitions. `--profile` prints where the
driver's own time goes; `--no-ray` answers without Ray, so that only the planner's part counts. `--whole` replays all of
the data, and prints its progress every minute, so that a run stopped after an hour still gives figures.

With a thousand nodes, dozens of coordinators share two cores here, and each takes a hundredth of one while it waits.
`--one-group` measures a coordinator with a core to itself: only its nodes have input. Minutes in the middle count,
since the others also start, and have nothing to do.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, Recipe
from planner.distributed_sort.dataset.partition_reader import slices
from planner.distributed_sort.exchange.block_fetch import PackedParts
from planner.distributed_sort.job.job import Emit, Job, SortRequest
from planner.distributed_sort.job.ledger import Journal, Ledger
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks.node_tasks import MapOrder, Mapped, Sorted, SortOrder, Stored, map_slice
from planner.distributed_sort.phases import reduce, shuffle
from planner.distributed_sort.phases.coordination import run_coordinators
from planner.distributed_sort.sort import is_coordinated
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.sizing import choose_sizes
from planner.units import format_bytes, parse_size

TASKS = 8
ENDED_AT_ONCE = 4
"""Without Ray one in four of the tasks under way ends at once."""
STORE_BYTES = 77_000_000_000
LINK_BYTES_PER_S = 1.25e9
LAYOUT = Layout()
WORKERS = 3
SERVICES = 2


def synthetic_map(node: str, order: MapOrder, _: Any) -> Mapped:
    """Answer as `map_slice` does, but group nothing."""
    sizes = {first: order.slice.records * LAYOUT.record_size // len(order.ranges) for _, first, _ in order.ranges}
    stored = Stored(slices=(order.slice.number,), written_bytes=0)
    own = {first: stored for owner, first, _ in order.ranges if owner == node}
    offsets = {first: 0 for first in sizes if first not in own}
    return Mapped(
        node=node, read_bytes=0, remade_bytes=0, seconds=0.1, checksum=0, stored=own, offsets=offsets, sizes=sizes
    )


def synthetic_store(_files: Any, _first: int, parts: PackedParts) -> Stored:
    return Stored(slices=tuple(part.slice for part in parts.unpack()), written_bytes=0)


def synthetic_sort(node: str, order: SortOrder) -> Sorted:
    copy = Copy(uri=f"/mnt/disk0/output/part-{order.number:06d}", node=node)
    partition = Partition(records=1, copies=(copy,), first_key="00" * 10, last_key="ff" * 10, checksum="0" * 16)
    return Sorted(partition=partition, read_bytes=0, written_bytes=0, summary=bytes(300))


def synthetic(task: Any) -> Callable[..., Any]:
    """Return the replacement of a task; its first argument is the node."""
    return synthetic_map if task is map_slice else synthetic_sort


class SyntheticService:
    """Service that answers at once that everything has arrived."""

    def store(self, files: Any, first: int, parts: PackedParts) -> Stored:
        return synthetic_store(files, first, parts)

    def give_up(self, _addresses: Any = None) -> None:
        return None


class SyntheticNodes(Nodes):
    """Nodes that are all the same single raylet."""

    def _discover(self, wait_s: float) -> None:
        count = int(os.environ["MADE_UP_NODES"])
        raylet = self._ray.nodes()[0]["NodeID"] if self._ray else ""
        self._ids = {f"node-{number:04d}": raylet for number in range(count)}
        self.cpus = dict.fromkeys(self._ids, float(TASKS))
        self.store_bytes = dict.fromkeys(self._ids, STORE_BYTES)
        self.concurrency = Concurrency(tasks=TASKS)

        if self._ray:
            services = [self._ray.remote(SyntheticService).options(num_cpus=0).remote() for _ in range(SERVICES)]
            self.services = {name: services[at % SERVICES] for at, name in enumerate(self._ids)}

    def have_arrived(self, blocks: Any) -> list[bool]:
        return [True for _ in blocks]

    def address(self, node: str) -> tuple[str, int]:
        return f"10.0.0.{node}", 20_000

    def run(self, node: str, task: Any, *arguments: Any, firmly: bool = True) -> Any:
        return super().run(node, synthetic(task), node, *arguments, firmly=firmly)

    def _place(self, task: Any, node: str, *, firmly: bool) -> Any:
        remote = self._remotes.setdefault(task, self._ray.remote(task))
        return remote.options(num_cpus=1, resources={node: 1e-4})


class Reference:
    """Reference to a task that ran without Ray, or to its result."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome


class NodesWithoutRay(SyntheticNodes):
    """The same nodes, with tasks that run in the driver."""

    def run(self, node: str, task: Any, *arguments: Any, **_: Any) -> Any:
        self.tasks += 1
        return Reference(synthetic(task)(node, *arguments))

    def call(self, _: str, __: str, *arguments: Any) -> Any:
        self.tasks += 1
        return Reference(synthetic_store(*arguments))

    def detect_losses(self, **_: Any) -> frozenset[str]:
        return frozenset()

    def outcome(self, reference: Reference) -> Any:
        return reference.outcome


def wait(references: list[Any], *, num_returns: int, **_: Any) -> tuple[list[Any], list[Any]]:
    ended = references[: 1 if num_returns == 1 else max(1, len(references) // ENDED_AT_ONCE)]
    return ended, references[len(ended) :]


def started_ray(nodes: int) -> Any:
    import ray

    resources = {f"node-{number:04d}": 1 for number in range(nodes)}
    ray.init(num_cpus=WORKERS, resources=resources, include_dashboard=False, log_to_driver=False)
    return ray


class Minutes:
    """Minute-by-minute report of the work done and the processor time it took."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._began_at_s = self._told_at_s = time.monotonic()
        self._summary = dict[str, float]()
        self.job: Job | None = None

    def __call__(self, event: dict[str, Any]) -> None:
        if self.job is None or event["event"] != "progress" or time.monotonic() - self._told_at_s < self._every_s:
            return
        self._told_at_s = time.monotonic()
        now = self.job.driver_effort() | {"bytes": float(event["bytes_done"])}
        done = {name: amount - self._summary.get(name, 0.0) for name, amount in now.items()}
        self._summary = now
        print(
            f"{self._told_at_s - self._began_at_s:.0f} s, {event['phase']}: {now['bytes'] / 1e12:.2f} TB of "
            f"{event['bytes_total'] / 1e12:.2f}; since the last line {_by_gb(done, done['bytes'] / 1e9)}; "
            f"in all the driver {now['cpu_s']:.1f} s, coordinators {now.get('coordinators_cpu_s', 0.0):.0f} s",
            flush=True,
        )


def _by_gb(done: dict[str, float], gigabytes: float) -> str:
    if gigabytes <= 0:
        return "nothing whole"
    driver_ms, ms = (1000 * done.get(name, 0.0) / gigabytes for name in ("cpu_s", "coordinators_cpu_s"))
    return f"{gigabytes:.0f} GB, a GB takes the driver {driver_ms:.3f} ms and coordinators {ms:.2f} ms"


def job_of(
    nodes: Nodes,
    ray: Any,
    *,
    data_bytes: int,
    most_slices: int,
    nodes_each: int,
    sources: int,
    folder: Path,
    emit: Emit,
) -> Job:
    """Return the sort of the first slices of the data, as far as they lie on the first of the `sources`."""
    count = len(nodes.names)
    sizes = choose_sizes(
        data_bytes=data_bytes,
        record_size=LAYOUT.record_size,
        node_count=count,
        memory_bytes=STORE_BYTES,
        store_bytes=STORE_BYTES,
        replicated=False,
        concurrency=nodes.concurrency,
        link_bytes_per_s=LINK_BYTES_PER_S,
    )
    records = min(data_bytes // LAYOUT.record_size, sizes.slice_records * most_slices) // count
    copies = ((Copy(uri="/mnt/disk0/input", node=name),) for name in nodes.names[:sources])
    source = Dataset(
        partitions=tuple(Partition(records=records, copies=copy, recipe=Recipe(start=0)) for copy in copies)
    )
    cut = list(slices(source, sizes.slice_records))
    each = sizes.partitions // count
    owner = [name for name in nodes.names for _ in range(each)]
    nodes.ray = ray or Mock(wait=wait)
    return Job(
        request=SortRequest(source=source, output="output", nodes_per_coordinator=nodes_each, avoid_slow=False),
        emit=emit,
        nodes=nodes,
        files=JobFiles(job="made-up", output="output"),
        source=source,
        sizes=sizes,
        slices=cut,
        splitting_reference=ray.put(bytes(10 * sizes.partitions)) if ray else None,
        ledger=Ledger(slices=len(cut), owner=owner),
        journal=Journal(folder / "journal"),
    )


def replayed(job: Job, *, whole_bytes: int, profile: bool) -> None:
    """Sort, and print what each phase took of this process and of coordinators."""
    fewer = with_fewer_partitions(job, share=job.source.bytes / whole_bytes)
    for name, phase, phase_job in ((shuffle.PHASE, shuffled, job), (reduce.PHASE, reduced, fewer)):
        before, watched = job.driver_effort(), cProfile.Profile(time.process_time)
        if profile:
            watched.runcall(phase, phase_job)
        else:
            phase(phase_job)
        print(f"{len(job.nodes.names)} nodes, {name}: {_summary(job, before)}", flush=True)
        if profile:
            pstats.Stats(watched).sort_stats("tottime").print_stats(25)


def shuffled(job: Job) -> None:
    if not is_coordinated(job):
        shuffle.Shuffle(job).run()
    while job.ledger.missing_slices():
        run_coordinators(job, shuffle.Shuffle)


def reduced(job: Job) -> None:
    if is_coordinated(job):
        run_coordinators(job, reduce.Reduce)
    else:
        reduce.Reduce(job).run()


def _summary(job: Job, before: dict[str, float]) -> str:
    gigabytes, after = job.source.bytes / 1e9, job.driver_effort()
    took = {name: after[name] - before.get(name, 0) for name in after}
    words = f"{took['cpu_s']:.2f} s of the driver's processor, {_each(took, '', gigabytes)}"
    if "coordinators_cpu_s" in took:
        words += f", {took['coordinators_reports']:.0f} reports"
        words += f"; coordinators {took['coordinators_cpu_s']:.2f} s, {_each(took, 'coordinators_', gigabytes)}"
    return words


def _each(took: dict[str, float], whose: str, gigabytes: float) -> str:
    cpu_ms, tasks = (took[whose + name] / gigabytes for name in ("cpu_s", "tasks"))
    return f"{cpu_ms * 1000:.3f} ms and {tasks:.2f} tasks for each of {gigabytes:.0f} GB"


def with_fewer_partitions(job: Job, *, share: float) -> Job:
    """Return the job with that share of the partitions of all nodes."""
    owner = job.ledger.owner[:: max(1, round(1 / share))]
    return replace(job, work=replace(job.work, ledger=Ledger(slices=len(job.slices), owner=owner)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=178)
    parser.add_argument("--data", type=parse_size, default=100_000_000_000_000)
    parser.add_argument("--slices", type=int, default=500, help="long ones; there are some more, shorter, at both ends")
    parser.add_argument("--whole", action="store_true", help="all of the data, whatever --slices says")
    parser.add_argument("--every", type=float, default=60.0, metavar="S", help="seconds from one line to the next")
    parser.add_argument("--nodes-per-coordinator", type=int, default=16)
    parser.add_argument("--one-group", action="store_true", help="only what one coordinator of all orders")
    parser.add_argument("--no-ray", action="store_true")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    os.environ["MADE_UP_NODES"] = str(options.nodes)
    with tempfile.TemporaryDirectory() as folder:
        ray = None if options.no_ray else started_ray(options.nodes)
        nodes, minutes = SyntheticNodes(ray) if ray else NodesWithoutRay(None), Minutes(options.every)
        job = minutes.job = job_of(
            nodes,
            ray,
            data_bytes=options.data,
            most_slices=options.data if options.whole else options.slices,
            nodes_each=options.nodes_per_coordinator if ray else options.nodes,
            sources=options.nodes_per_coordinator if options.one_group else options.nodes,
            folder=Path(folder),
            emit=minutes,
        )
        longest = format_bytes(job.sizes.slice_records * LAYOUT.record_size)
        print(f"{len(job.slices)} slices of up to {longest}, {len(job.ledger.owner)} partitions")
        replayed(job, whole_bytes=options.data, profile=options.profile)


if __name__ == "__main__":
    main()
