"""How other tools sort a file of 100-byte records by their first ten bytes: `python peers.py TOOL INPUT OUTPUT`.

Each is given the fastest formulation known to us that writes the same output.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

RECORD_BYTES = 100


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
    found = connection.sql("SELECT n FROM keys ORDER BY h, l").fetchnumpy()["n"]
    records[found].tofile(output)


def halves(records: Any) -> tuple[Any, Any]:
    """The ten key bytes as an integer of eight and one of two, compared as the bytes are."""
    high = np.ascontiguousarray(records[:, :8]).view(">u8").ravel().astype(np.uint64)
    low = np.ascontiguousarray(records[:, 8:10]).view(">u2").ravel().astype(np.uint16)
    return high, low


def order_of(records: Any, *, by: Any) -> Any:
    return by(*halves(records))


TOOLS = {"numpy": with_numpy, "polars": with_polars, "pyarrow": with_pyarrow, "duckdb": with_duckdb}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](sys.argv[2], sys.argv[3])
