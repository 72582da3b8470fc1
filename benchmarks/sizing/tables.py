"""The measured runs and the specifications of their machines."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
SUITES = (
    *("c3o_sort", "c3o_grep", "c3o_sgd", "c3o_kmeans", "c3o_pagerank", "arrow_terasort", "exoshuffle"),
    *("dataproc_grep", "dataproc_join", "dataproc_kmeans", "dataproc_sort"),
)
Row = dict[str, Any]


def read(name: str) -> list[Row]:
    """Return the rows of a table, numbers as numbers; `repeats_s` becomes a list of seconds."""
    with (DATA / f"{name}.csv").open(newline="") as file:
        rows = [{key: _cell(value) for key, value in row.items()} for row in csv.DictReader(file)]
    for row in rows:
        if "repeats_s" in row:
            row["repeats_s"] = [float(second) for second in str(row["repeats_s"]).split("|")]
    return rows


def specifications() -> dict[str, Row]:
    """Return the machines by type."""
    return {row["type"]: row for row in (*read("specs"), *read("specs_n2"))}


def family(instance_type: str) -> str:
    """Return the family of a type: c4 of c4.2xlarge."""
    return instance_type.partition(".")[0]


def _cell(value: str) -> Any:
    try:
        return float(value)
    except ValueError:
        return value
