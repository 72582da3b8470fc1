"""Disk rate of the code by which the sort on a cluster reads and writes, a few files at a time, each synced.

DiskBench (`planner bench disk`) keeps deeper queues in existing files, and gets higher rates from the same disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from planner.distributed_sort.node_files import run_files
from planner.distributed_sort.node_files.run_files import write_atomically

AT_ONCE: Final = 4
FILES: Final = 32
FILE_BYTES: Final = 16 << 20
REPEATS: Final = 5


def sort_disk(folder: Path) -> dict[str, float]:
    """Return bytes/s of writing and of reading: medians."""
    content = np.random.default_rng(0).integers(0, 256, FILE_BYTES, np.uint8)

    def write(path: Path) -> None:
        write_atomically(path, [content], durable=True)

    writing, reading = list[float](), list[float]()
    for _ in range(REPEATS):
        with TemporaryDirectory(dir=folder) as own:
            paths = [Path(own) / str(number) for number in range(FILES)]
            writing.append(_bytes_per_s(write, paths))
            reading.append(_bytes_per_s(_read, paths))
    return {"read_bytes_per_s": median(reading), "write_bytes_per_s": median(writing)}


def _bytes_per_s(do: Callable[[Path], None], paths: Sequence[Path]) -> float:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        began = time.monotonic()
        list(pool.map(do, paths))
        return len(paths) * FILE_BYTES / (time.monotonic() - began)


def _read(path: Path) -> None:
    with run_files.open_direct(path, os.O_RDONLY) as descriptor:
        run_files.read_into(descriptor, np.empty(FILE_BYTES, np.uint8), offset=0)
