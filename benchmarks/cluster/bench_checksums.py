"""Cost of block checksums to a node: its tasks with and without them, in turn, by processor time.

One process does a node's part of a sort: it groups slices, checks each block as if it had come over the wire, stores
it, reads it back, sorts each partition and writes it. Nothing is sent, so the share of a whole sort is smaller.

python benchmarks/cluster/bench_checksums.py --data 400MB --runs 7
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.dataset.dataset import Dataset, Recipe
from planner.distributed_sort.dataset.partition_reader import slices
from planner.distributed_sort.node_files import run_files
from planner.distributed_sort.node_files.node_environment import NODE_DIRECTORY, NODE_MEMORY, NODE_NAME, JobFiles
from planner.distributed_sort.node_files.run_files import Block
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.node_tasks import SortOrder
from planner.units import parse_size

PARTITIONS = 16
SLICE_RECORDS = 250_000


def none_of(_: Any, lengths: Any) -> Any:
    """Replace `checksums_of` where there are to be no checksums."""
    return np.zeros(len(lengths), "<i8")


def node_seconds(source: Dataset, splitting: Any, files: JobFiles) -> float:
    """Do a node's tasks and return the seconds of processor time, including the kernel's."""
    content, began = content_of(source.layout), time.process_time()
    cut = list(slices(source, SLICE_RECORDS))
    for taken in cut:
        grouped, offsets = content.group(content.read_slice(source.partitions[0], taken), splitting, 1)
        block = Block.of(np.diff(offsets), grouped)
        if not block.is_intact:
            raise SystemExit("a block is not what was grouped")
        node_tasks.store(files, 0, {taken.number: block})
    for number in range(splitting.partitions):
        order = SortOrder(number=number, slices=len(cut), layout=source.layout, files=files, memory_bytes=source.bytes)
        node_tasks.sort_partition(order)
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="400MB")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    records = int(parse_size(options.data)) // 100
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {NODE_NAME: "node", NODE_DIRECTORY: folder, NODE_MEMORY: folder}
        files = JobFiles(job="bench", output="out", cached=True)
        made = node_tasks.generate(Recipe(start=0), records, JobFiles(job="in", output="in"), 0)
        source = Dataset(partitions=(made,))
        content = content_of(source.layout)
        splitting, _ = content.split([content.sample(made, 20_000)], PARTITIONS)

        def run(checksums: Callable[..., Any]) -> float:
            with patch.object(run_files, "checksums_of", checksums):
                seconds = node_seconds(source, splitting, files)
            node_tasks.undo(files)
            return seconds

        pairs = [(run(run_files.checksums_of), run(none_of)) for _ in range(options.runs + 1)][1:]
        shutil.rmtree(Path(folder) / "in")
    ratios = [on / off - 1 for on, off in pairs]
    data_gb = source.bytes / 1e9
    on, off = (median(column) / data_gb for column in zip(*pairs, strict=True))
    print(f"{on:.3f} s of a processor for each GB with checksums, {off:.3f} without")
    print(f"checksums cost {median(ratios):.1%} ({min(ratios):.1%} to {max(ratios):.1%}, {len(ratios)} pairs)")


if __name__ == "__main__":
    main()
