"""Test records, made on every node's own disks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from planner.distributed_sort.dataset.copies import run_on_each_copy
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, Recipe
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.validate import validate_first_copies

INPUT: Final = "input"


def generate_with_checksum(nodes: Nodes, *, records: int) -> tuple[Dataset, str]:
    """Have all nodes write test records; return the dataset and its checksum. Raises IoFailureError."""
    dataset = generate(nodes, records=records)
    return dataset, validate_first_copies(nodes, dataset).checksum


def generate(nodes: Nodes, *, records: int, skew: bool = False, on_volume: bool = False) -> Dataset:
    """Have every node write an equal share of test records, a partition on each disk. Failures are tried again, on the
    same node and on others in turn. Raises IoFailureError.
    """
    files = JobFiles(job=INPUT, output=INPUT, on_volume=on_volume)
    cut = shares(records, {name: nodes.facts[name].data_disks for name in nodes.names})
    wanted = Dataset(
        partitions=tuple(
            Partition(
                records=end - start,
                copies=(Copy(uri="", node=name), Copy(uri="")),
                recipe=Recipe(start=start, skew=skew),
            )
            for name, start, end in cut
        )
    )

    def begin(node: str, share: Partition, number: int) -> Any:
        return nodes.run(node, node_tasks.generate, share.recipe, share.records, files, number, nodes.threads(node))

    copies = {number: share.copies for number, share in enumerate(wanted.partitions)}
    made = run_on_each_copy(nodes, copies, wanted, begin)
    return Dataset(partitions=tuple(made.complete(doing="data was generated")))


def shares(records: int, disks: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Return node, first record and end of each partition: nodes get equal shares, and so do the disks of a node."""
    cut = []
    for turn, (name, count) in enumerate(disks.items()):
        edges = [records * (turn * count + disk) // (len(disks) * count) for disk in range(count + 1)]
        cut += [(name, start, end) for start, end in pairwise(edges)]
    return cut
