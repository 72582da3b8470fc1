"""Test records, made on every node's own disks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from planner.distributed_sort import node_tasks
from planner.distributed_sort.dataset import Dataset, Recipe
from planner.distributed_sort.node_environment import JobFiles
from planner.distributed_sort.nodes import Nodes
from planner.distributed_sort.validate import validated

INPUT: Final = "input"


def generated(nodes: Nodes, *, records: int) -> tuple[Dataset, str]:
    """Have all nodes write test records; return the dataset and its checksum. Raises IoFailureError."""
    dataset = generate(nodes, records=records)
    return dataset, validated(nodes, dataset).checksum


def generate(nodes: Nodes, *, records: int, skew: bool = False, on_volume: bool = False) -> Dataset:
    """Have every node write an equal share of test records, a partition on each disk. Raises IoFailureError."""
    files = JobFiles(job=INPUT, output=INPUT, on_volume=on_volume)
    cut = shares(records, {name: nodes.facts[name].data_disks for name in nodes.names})
    began = [
        nodes.run(
            name, node_tasks.generate, Recipe(start=start, skew=skew), end - start, files, number, nodes.threads(name)
        )
        for number, (name, start, end) in enumerate(cut)
    ]
    return Dataset(partitions=tuple(nodes.outcomes(began, doing="data was generated")))


def shares(records: int, disks: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Return node, first record and end of each partition: nodes get equal shares, and so do the disks of a node."""
    cut = []
    for turn, (name, count) in enumerate(disks.items()):
        edges = [records * (turn * count + disk) // (len(disks) * count) for disk in range(count + 1)]
        cut += [(name, start, end) for start, end in pairwise(edges)]
    return cut
