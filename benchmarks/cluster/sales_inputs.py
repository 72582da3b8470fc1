"""Inputs that the engine's figures do not come from: log lines, and sales with texts, numbers and times as CSV and as
Parquet.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

import planner
from planner.clusters.emulated.ray import EmulatedRay
from planner.distributed_sort.dataset.dataset import Dataset, TextFormat
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.sorting.text.text_job import CsvColumns

FORMS: Final = ("lines", "csv", "parquet")
_ROW_BYTES: Final = {"csv": 56, "parquet": 50}


def sales(cluster: EmulatedRay, form: str, data_bytes: int) -> Dataset:
    """Write about this number of bytes of a form, a part to each node's folder."""
    folders = [cluster.nodes.directory(node) for node in range(1, cluster.nodes.workers + 1)]
    part_bytes = data_bytes // len(folders)
    paths = [str(folder / f"sales.{form}") for folder in folders]
    for seed, path in enumerate(paths):
        if form == "lines":
            planner.generate(path, lines=True, size_bytes=part_bytes, start=seed)
        else:
            _write(Path(path), _table(part_bytes // _ROW_BYTES[form], seed=seed), form)
    if form == "lines":
        return lines_of(paths, TextFormat())
    if form == "csv":
        return rows_of(paths, CsvColumns(keys=("customer", "amount:num:desc")), unique=False)
    return tables_of(paths, ["customer", "amount:desc"])


def _table(rows: int, *, seed: int) -> pa.Table:
    chance = np.random.default_rng(seed)
    customers = np.array([f"customer-{number * 7919 % 100_003:06}" for number in range(20_011)])
    return pa.table(
        {
            "id": np.arange(rows),
            "customer": customers[chance.integers(0, len(customers), rows)],
            "amount": chance.integers(0, 10**7, rows) / 100,
            "time": pa.array(chance.integers(1_700_000_000, 1_760_000_000, rows), pa.timestamp("s")),
        }
    )


def _write(path: Path, table: pa.Table, form: str) -> None:
    if form == "csv":
        pc.write_csv(table, path)
    else:
        pq.write_table(table, path, compression="zstd")
