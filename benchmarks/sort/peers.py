"""Other tools that sort a file of 100-byte records by their first ten bytes: `python peers.py TOOL INPUT OUTPUT`.

Each uses the fastest formulation known to us with the same output. Only `duckdb-streamed` keeps to the bytes of memory
given after OUTPUT; the others hold all of the data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

RECORD_BYTES = 100
STREAMED_RECORDS = 100_000


def with_numpy(source: str, output: str) -> None:
    records = np.memmap(source, dtype=np.uint8, mode="r").reshape(-1, RECORD_BYTES)
    records[order_of(records, by=lambda high, low: np.lexsort((low, high)))].tofile(output)


def with_polars(source: str, output: str) -> None:
    import polars

    def order(high: Any, low: Any) -> Any:
        keys = polars.DataFrame({"high": high, "low": low})
        return keys.select(polars.arg_sort_by("high", "low")).to_series().to_numpy()

    records = np.memmap(source, dtype=np.uint8, mode="r").reshape(-1, RECORD_BYTES)
    records[order_of(records, by=order)].tofile(output)


def with_pyarrow(source: str, output: str) -> None:
    import pyarrow
    import pyarrow.compute

    def order(high: Any, low: Any) -> Any:
        table = pyarrow.table({"high": high, "low": low})
        keys = [("high", "ascending"), ("low", "ascending")]
        return pyarrow.compute.sort_indices(table, sort_keys=keys).to_numpy()

    records = np.memmap(source, dtype=np.uint8, mode="r").reshape(-1, RECORD_BYTES)
    records[order_of(records, by=order)].tofile(output)


def with_duckdb(source: str, output: str) -> None:
    import duckdb

    records = np.memmap(source, dtype=np.uint8, mode="r").reshape(-1, RECORD_BYTES)
    high, low = halves(records)
    connection = duckdb.connect()
    connection.register("keys", {"h": high, "l": low, "n": np.arange(len(high))})
    positions = connection.sql("SELECT n FROM keys ORDER BY h, l").fetchnumpy()["n"]
    records[positions].tofile(output)


def with_duckdb_streamed(source: str, output: str, memory_bytes: int) -> None:
    import duckdb
    import pyarrow

    schema = pyarrow.schema({"h": pyarrow.uint64(), "l": pyarrow.uint16(), "r": pyarrow.binary(RECORD_BYTES)})
    batches = record_batches(source, schema)
    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = '{memory_bytes}B'")
    connection.execute(f"SET temp_directory = '{Path(output).parent}'")
    connection.execute("SET preserve_insertion_order = false")
    connection.register("records", pyarrow.RecordBatchReader.from_batches(schema, batches))
    ordered = connection.sql("SELECT r FROM records ORDER BY h, l").to_arrow_reader(STREAMED_RECORDS)
    with Path(output).open("wb") as file:
        for batch in ordered:
            _, _, content = batch.column(0).buffers()
            begin = batch.column(0).offset * RECORD_BYTES
            file.write(memoryview(content)[begin : begin + batch.num_rows * RECORD_BYTES])


def record_batches(source: str, schema: Any) -> Iterator[Any]:
    import pyarrow

    records = np.memmap(source, dtype=np.uint8, mode="r").reshape(-1, RECORD_BYTES)
    for begin in range(0, len(records), STREAMED_RECORDS):
        part = records[begin : begin + STREAMED_RECORDS]
        whole = pyarrow.Array.from_buffers(schema.field("r").type, len(part), [None, pyarrow.py_buffer(part.copy())])
        high, low = halves(part)
        yield pyarrow.record_batch([pyarrow.array(high), pyarrow.array(low), whole], schema=schema)


def halves(records: Any) -> tuple[Any, Any]:
    """Return the ten key bytes as an integer of eight and one of two, in the same order as the bytes."""
    high = np.ascontiguousarray(records[:, :8]).view(">u8").ravel().astype(np.uint64)
    low = np.ascontiguousarray(records[:, 8:10]).view(">u2").ravel().astype(np.uint16)
    return high, low


def order_of(records: Any, *, by: Any) -> Any:
    return by(*halves(records))


TOOLS = {"numpy": with_numpy, "polars": with_polars, "pyarrow": with_pyarrow, "duckdb": with_duckdb}

if __name__ == "__main__":
    name, source, output, *memory = sys.argv[1:]
    if name == "duckdb-streamed":
        with_duckdb_streamed(source, output, int(memory[0]))
    else:
        TOOLS[name](source, output)
