"""Ray Data's sort of the same records: read into Arrow tables of key and payload, sorted by key, written as records.

`pull` is Ray Data's default shuffle, `push` its push-based one, after Exoshuffle. Run by bench_peers.py on the head.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import ray
from ray.data import DataContext
from ray.data.context import ShuffleStrategy

RECORD_BYTES = 100
KEY_BYTES = 10
PIECE_BYTES = 25_000_000


def table_of(records: Any) -> pyarrow.Table:
    """Return the records as a table: the key, by which Arrow can sort, and the rest."""
    rows = records.reshape(-1, RECORD_BYTES)
    columns = {"key": rows[:, :KEY_BYTES], "payload": rows[:, KEY_BYTES:]}
    return pyarrow.table({name: binary(column) for name, column in columns.items()})


def binary(column: Any) -> pyarrow.Array:
    """Return a column of equally wide bytes as an Arrow array that can be sorted."""
    count, width = column.shape
    ends = pyarrow.py_buffer(np.arange(0, (count + 1) * width, width, dtype=np.int32))
    content = pyarrow.py_buffer(np.ascontiguousarray(column).reshape(-1))
    return pyarrow.Array.from_buffers(pyarrow.binary(), count, [None, ends, content])


def bytes_of(column: pyarrow.ChunkedArray, width: int) -> Any:
    """Invert `binary`."""
    chunks = []
    for chunk in column.chunks:
        start = chunk.offset * width
        chunks.append(np.frombuffer(chunk.buffers()[2], np.uint8)[start : start + len(chunk) * width])
    return np.concatenate(chunks).reshape(-1, width)


def read(piece: dict[str, Any]) -> pyarrow.Table:
    """Read a piece of the input."""
    size = int(piece["bytes"][0])
    return table_of(np.fromfile(str(piece["path"][0]), np.uint8, size, offset=int(piece["offset"][0])))


def write(table: pyarrow.Table) -> dict[str, Any]:
    """Write a sorted block to the disk of this task's node; its first key is its place in the output."""
    if not len(table):
        return {"path": [], "first": []}
    records = np.hstack([bytes_of(table["key"], KEY_BYTES), bytes_of(table["payload"], RECORD_BYTES - KEY_BYTES)])
    first = records[0, :KEY_BYTES].tobytes().hex()
    path = Path(os.environ["PLANNER_NODE_DIRECTORY"]) / "peer" / first
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        records.tofile(file)
        file.flush()
        os.fsync(file.fileno())
    return {"path": [str(path)], "first": [first]}


def sort(manifest: dict[str, Any]) -> list[str]:
    """Sort the dataset of a manifest and return the output's files in order."""
    pieces = [
        {"path": partition["copies"][0]["uri"], "offset": offset, "bytes": min(PIECE_BYTES, size - offset)}
        for partition in manifest["partitions"]
        for size in [partition["records"] * RECORD_BYTES]
        for offset in range(0, size, PIECE_BYTES)
    ]
    dataset = ray.data.from_items(pieces, override_num_blocks=len(pieces))
    tables = dataset.map_batches(read, batch_size=1, batch_format="numpy")
    written = tables.sort("key").map_batches(write, batch_size=None, batch_format="pyarrow")
    rows = written.take_all()
    return [row["path"] for row in sorted(rows, key=lambda row: row["first"])]


def main() -> None:
    """Sort by an order on standard input."""
    order = json.load(sys.stdin)
    ray.init(address=order["address"], log_to_driver=False, logging_level="ERROR")
    context = DataContext.get_current()
    context.enable_progress_bars = False
    if order["strategy"] == "push":
        context.shuffle_strategy = ShuffleStrategy.SORT_SHUFFLE_PUSH_BASED
    seconds = []
    for _ in range(order["repeats"]):
        began = time.monotonic()
        outputs = sort(order["manifest"])
        seconds.append(time.monotonic() - began)
    print(json.dumps({"seconds": seconds, "outputs": outputs}))


if __name__ == "__main__":
    main()
