"""The user's own measurements, laid over the shipped ones when a catalog is read.

They live in the user's data directory, one CSV file per catalog (`aws.csv`), so that they can be diffed and shared.
A shipped rate gives way to the user's of the same type and circumstances; where the user has several, their mean
counts, each weighted by its instances and repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from planner.catalog.columns import (
    AGGREGATES,
    METHOD,
    MODES,
    NOTE,
    SMALL_IO,
    TYPE,
    VARIATION,
    choice,
    count,
    number,
    rate,
)
from planner.config import paths
from planner.tables import Column, Problem, Schema, Table, scan_table

QUANTITIES: Final = (*MODES, "network", *SMALL_IO, "sort")
SOURCE: Final = "yours"
"""Key under which a catalog lists the user's measurements as a source."""

_FILES: Final = {
    "disks": (MODES, ("instance_type", "mode")),
    "networks": (("network",), ("instance_type", "nodes", "placement_group")),
    "small_io": (SMALL_IO, ("instance_type", "operation")),
    "sort_rates": (("sort",), ("instance_type",)),
}
"""By file of a catalog: the quantities that belong there, and what its rows must agree in to be replaced."""

MEASUREMENTS: Final = Schema(
    name="measurements",
    meaning="rates that the user measured",
    key=("instance_type", "quantity", "disks", "nodes", "placement_group", "aggregate", "zone", "as_of", "source"),
    columns=(
        TYPE,
        choice("quantity", QUANTITIES, "how the local disks were driven, the network, or sorting in memory"),
        rate("bytes_per_s", "per node; simultaneous: of each direction; sort: per virtual CPU", required=True),
        count("disks", "disks the rate is of"),
        count("nodes", "size of the cluster whose network it was", least=2),
        choice("placement_group", ("yes", "no"), "whether nodes were placed close together", required=False),
        count("connections", "TCP connections between two nodes"),
        count("threads", "threads of small operations"),
        choice("aggregate", AGGREGATES[:3], "what the figure is over the nodes measured"),
        Column(name="zone", meaning="where: the cloud's name of the region or zone"),
        Column(name="as_of", kind="day", meaning="day of the (last) run"),
        Column(name="instances", kind="whole", least=1, meaning="instances measured"),
        Column(name="repeats", kind="whole", least=1, meaning="runs on each"),
        number("seconds", "s", "length of one run"),
        number("period_days", "d", "from the first run to the last"),
        *VARIATION,
        METHOD,
        NOTE,
        Column(name="source", meaning="file it was read from"),
    ),
)


def measurements_file(catalog: str) -> Path:
    """Return the file of the user's measurements on the types of a catalog; it need not exist."""
    return paths.user_directory("measurements") / f"{catalog}.csv"


def with_measurements(tables: dict[str, Table], path: Path) -> tuple[dict[str, Table], list[Problem]]:
    """Return tables in which the user's measurements in `path` replace the shipped, and what is wrong with the file."""
    mine, problems = scan_table(path, MEASUREMENTS)
    problems += _unknown_types(mine, set(tables["instances"]["instance_type"].tolist()))
    if problems:
        return tables, problems
    laid = {
        name: _laid_over(tables[name], _pooled(mine, np.isin(mine["quantity"], quantities)), circumstances)
        for name, (quantities, circumstances) in _FILES.items()
    }
    return {**tables, **laid}, []


def _unknown_types(mine: Table, names: set[str]) -> Iterator[Problem]:
    for name, line in zip(mine["instance_type"].tolist(), mine.lines, strict=True):
        if name not in names:
            expected = "is no type of this catalog; correct or remove the row"
            yield Problem(path=mine.path, line=line, column="instance_type", value=name, expected=expected)


def _pooled(mine: Table, wanted: Any) -> list[dict[str, Any]]:
    """Return a row for each set of circumstances: the mean of what was measured under them."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in mine.rows(np.flatnonzero(wanted).tolist()):
        nodes = None if np.isnan(row["nodes"]) else row["nodes"]
        slowest = row["aggregate"] == "slowest_of_n"
        key = (row["instance_type"], row["quantity"], nodes, row["placement_group"], slowest)
        groups.setdefault(key, []).append(row)
    return [_mean(rows) for rows in groups.values()]


def _mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    weight = [row["instances"] * row["repeats"] for row in rows]
    latest = max(rows, key=lambda row: row["as_of"])
    instances = sum(row["instances"] for row in rows)
    total = sum(w * row["bytes_per_s"] for w, row in zip(weight, rows, strict=True))
    return {
        **latest,
        "mode": latest["quantity"],
        "operation": latest["quantity"],
        "placement_group": latest["placement_group"] == "yes",
        "bytes_per_s": total / sum(weight),
        "bytes_per_s_per_vcpu": total / sum(weight),
        "aggregate": latest["aggregate"] if len({row["aggregate"] for row in rows}) == 1 else "mean",
        **{column.name: _pooled_sigma([row[column.name] for row in rows], weight) for column in VARIATION},
        "instances": instances,
        "repeats": max(1, sum(weight) // instances),
        "note": "; ".join(dict.fromkeys(row["note"] for row in rows if row["note"])),
        "operations_per_s": np.nan,
        "evidence": "measured",
        "method": "; ".join(dict.fromkeys(row["method"] for row in rows)),
        "source": SOURCE,
    }


def _pooled_sigma(sigmas: list[float], weight: list[float]) -> float:
    """Return the root mean square of the known ones by weight; NaN when none is."""
    weighted = [(sigma, w) for sigma, w in zip(sigmas, weight, strict=True) if not np.isnan(sigma)]
    if not weighted:
        return float("nan")
    return float(np.sqrt(np.average([sigma**2 for sigma, _ in weighted], weights=[w for _, w in weighted])))


def _laid_over(table: Table, rows: list[dict[str, Any]], circumstances: tuple[str, ...]) -> Table:
    """Return the table with `rows` in place of those that agree with any of them in `circumstances`."""
    if not rows:
        return table
    replaced = {_circumstances(row, circumstances) for row in rows}
    remaining = [n for n, row in enumerate(table.rows()) if _circumstances(row, circumstances) not in replaced]
    columns = {
        name: np.concatenate([old[remaining], np.array([row[name] for row in rows]).astype(_wide(old, rows, name))])
        for name, old in table.columns.items()
    }
    return replace(table, columns=columns, lines=[*(table.lines[n] for n in remaining), *([0] * len(rows))])


def _wide(old: Any, rows: list[dict[str, Any]], name: str) -> Any:
    return np.str_ if old.dtype.kind == "U" else old.dtype


def _circumstances(row: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(None if isinstance(row[n], float) and np.isnan(row[n]) else row[n] for n in names)
