"""What the driver itself takes to order a shuffle on many nodes: the planner's part, with Ray's calls answered at once.

Nodes are made up: every task ends, a quarter of those under way each time the driver looks. Ray's own part, some
milliseconds of a processor for each task, comes on top of the figures printed here:

    python benchmarks/cluster/bench_driver.py --nodes 178 --slices 1000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

from planner.distributed_sort.concurrency import Concurrency
from planner.distributed_sort.dataset import Dataset, Partition, Recipe
from planner.distributed_sort.job import Job, SortRequest
from planner.distributed_sort.ledger import Journal, Ledger
from planner.distributed_sort.map_task import Mapped, map_slice
from planner.distributed_sort.node_environment import JobFiles
from planner.distributed_sort.node_tasks import Stored
from planner.distributed_sort.nodes import Nodes
from planner.distributed_sort.send_queue import Block
from planner.distributed_sort.shuffle import Shuffle
from planner.distributed_sort.sizing import choose_sizes
from planner.distributed_sort.slicing import slices
from planner.units import format_bytes

TASKS = 8
ENDED_AT_ONCE = 4
"""One in so many of the tasks under way."""
STORE_BYTES = 77_000_000_000
DATA_BYTES = 100_000_000_000_000
RECORD_BYTES = 100


class Reference:
    """Of a task, or of what it returns."""

    def __init__(self, outcome: Callable[[], Any] | None = None) -> None:
        self.outcome = outcome


class MadeUpNodes:
    """A nodes whose tasks end at once, and count as many records for every partition."""

    lost = avoided = frozenset[str]()

    def __init__(self, nodes: int) -> None:
        self.names = [f"node-{number:04d}" for number in range(nodes)]
        self.concurrency = Concurrency(tasks=TASKS)
        self.store_bytes = dict.fromkeys(self.names, STORE_BYTES)
        self.tasks = 0

    def threads(self, _: str) -> int:
        return 1

    def have_come(self, blocks: list[Block]) -> list[bool]:
        return [True for _ in blocks]

    def newly_lost(self, **_: Any) -> frozenset[str]:
        return frozenset()

    def run(self, node: str, task: Any, *arguments: Any, **_: Any) -> Any:
        self.tasks += 1
        if task is map_slice:
            order = arguments[0]
            return [Reference(lambda: self._mapped(node, order)), *(Reference() for _ in order.ranges)]
        _, _, numbers, *_ = arguments
        return Reference(lambda: self._stored(numbers))

    def outcome(self, reference: Reference) -> Any:
        assert reference.outcome is not None
        return reference.outcome()

    def _mapped(self, node: str, order: Any) -> Mapped:
        own = {first: self._stored([order.slice.number]) for owner, first, _ in order.ranges if owner == node}
        sizes = {first: order.slice.records * RECORD_BYTES // len(self.names) for _, first, _ in order.ranges}
        return Mapped(node=node, read_bytes=0, remade_bytes=0, seconds=0.1, checksum=0, stored=own, sizes=sizes)

    def _stored(self, numbers: list[int]) -> Stored:
        return Stored(slices=tuple(numbers), written_bytes=0)


def wait(references: list[Any], *, num_returns: int, **_: Any) -> tuple[list[Any], list[Any]]:
    ended = references[: 1 if num_returns == 1 else max(1, len(references) // ENDED_AT_ONCE)]
    return ended, references[len(ended) :]


def job_of(nodes: MadeUpNodes, *, slices_wanted: int, folder: Path) -> Job:
    count = len(nodes.names)
    sizes = choose_sizes(
        data_bytes=DATA_BYTES,
        record_size=RECORD_BYTES,
        node_count=count,
        memory_bytes=STORE_BYTES,
        store_bytes=STORE_BYTES,
        replicated=False,
        concurrency=nodes.concurrency,
    )
    records = sizes.slice_records * slices_wanted // count
    source = Dataset(
        partitions=tuple(Partition(records=records, copies=(), recipe=Recipe(start=0)) for _ in range(count))
    )
    cut = list(slices(source, sizes.slice_records))
    owner = [name for name in nodes.names for _ in range(sizes.partitions // count)]
    return Job(
        request=SortRequest(source=source, output="output"),
        ray=Mock(wait=wait),
        nodes=cast("Nodes", nodes),
        files=JobFiles(job="made-up", output="output"),
        sizes=sizes,
        slices=cut,
        splitting=Mock(),
        splitting_reference=None,
        ledger=Ledger(slices=len(cut), owner=owner),
        journal=Journal(folder / "journal"),
        emit=lambda _: None,
        samplers={},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=178)
    parser.add_argument(
        "--slices", type=int, default=1000, help="long ones; there are some more, shorter, at both ends"
    )
    options = parser.parse_args()
    nodes = MadeUpNodes(options.nodes)
    job = job_of(nodes, slices_wanted=options.slices, folder=Path())
    began = time.process_time()
    Shuffle(job).run()
    took = time.process_time() - began
    count = len(job.slices)
    longest = format_bytes(job.sizes.slice_records * RECORD_BYTES)
    print(
        f"{options.nodes} nodes, {count} slices of up to {longest}, {len(job.ledger.owner)} partitions: "
        f"{took:.1f} s of a processor, {took / count * 1000:.1f} ms and {nodes.tasks / count:.2f} tasks for each, "
        f"{format_bytes(job.ledger.size_bytes)} of ledger"
    )


if __name__ == "__main__":
    main()
