"""User measurements that replace shipped ones when a catalog is read.

They are in the user's data directory, one CSV file per catalog (`aws.csv`), so that they can be diffed and shared. The
user's figures replace shipped ones of the same type and circumstances, field by field; of several, the mean counts,
weighted by instances and repeats.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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
    size,
)
from planner.catalog.own_storage import SETTING, disk_rows, small_io_rows, volume_rows
from planner.catalog.tables import Column, Problem, Schema, Table, scan_table
from planner.config import paths
from planner.errors import nearest

QUANTITIES: Final = (*MODES, "network", *SMALL_IO, "sort")
SOURCE: Final = "yours"
"""Key of the user's measurements in a catalog's list of sources."""

_RATES: Final = ("bytes_per_s", "operations_per_s")
_FILES: Final = {
    "disks": (("instance_type", "mode"), _RATES),
    "volume_rates": (("instance_type", "volume_type", "mode"), _RATES),
    "networks": (("instance_type", "nodes", "placement_group"), _RATES[:1]),
    "small_io": (("instance_type", "operation", "volume_type", "volumes"), _RATES[:1]),
    "sort_rates": (("instance_type",), ("bytes_per_s_per_vcpu",)),
}
"""By file of a catalog: the columns that must agree for a figure to be replaced, and the figures."""

MEASUREMENTS: Final = Schema(
    name="measurements",
    meaning="rates that the user measured",
    key=(
        "instance_type",
        "quantity",
        "disks",
        *SETTING,
        "nodes",
        "placement_group",
        "aggregate",
        "zone",
        "as_of",
        "source",
    ),
    columns=(
        TYPE,
        choice("quantity", QUANTITIES, "how disks or volumes were driven, the network, or sorting in memory"),
        rate("bytes_per_s", "per node; simultaneous: of each direction; sort: per virtual CPU", required=True),
        count("disks", "disks the rate is of"),
        count("nodes", "size of the cluster whose network it was", least=2),
        choice("placement_group", ("yes", "no"), "whether nodes were placed close together", required=False),
        count("connections", "TCP connections between two nodes"),
        count("threads", "threads or jobs that drove the storage"),
        Column(name="volume_type", required=False, meaning="kind of the block volumes measured; blank: local disks"),
        count("volumes", "block volumes that the rate is of"),
        choice("layout", ("jbod", "raid0"), "whether disks were striped", required=False),
        Column(name="job", required=False, meaning="fio's name of the job or jobs"),
        choice("side", ("read", "write"), "direction, where both went at once; blank: the lesser", required=False),
        choice("pattern", ("sequential", "random"), "where operations went", required=False),
        size("block_bytes", "what one operation moved"),
        count("depth", "operations of a thread under way at once"),
        count("flush_every", "writes between two flushes; blank: none"),
        number("read_share", "", "share of the operations that read, where both went at once"),
        choice("buffered", ("yes", "no"), "whether they went through the page cache", required=False),
        number("operations_per_s", "1/s", "operations of that size"),
        number("latency_mean_s", "s", "of an operation: mean"),
        number("latency_p50_s", "s", "of an operation: median"),
        number("latency_p90_s", "s", "of an operation: 90th percentile"),
        number("latency_p99_s", "s", "of an operation: 99th percentile"),
        number("latency_p999_s", "s", "of an operation: 99.9th percentile"),
        count("retransmits", "TCP segments sent again, in all runs", least=0),
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
    """Return tables in which the user's measurements in `path` replace the shipped, and the problems of the file."""
    mine, problems = scan_table(path, MEASUREMENTS)
    problems += _misplaced_rows(mine, tables)
    if problems:
        return tables, problems
    rows = list(mine.rows())
    own = {
        "disks": disk_rows(rows, _mean),
        "volume_rates": volume_rows(rows, _mean),
        "networks": _pool_rows([row for row in rows if row["quantity"] == "network"]),
        "small_io": small_io_rows(rows, _mean),
        "sort_rates": _pool_rows([row for row in rows if row["quantity"] == "sort"]),
    }
    return {**tables, **{name: _lay_over(tables[name], own[name], *_FILES[name]) for name in own}}, []


def misplaced_reason(row: Mapping[str, Any], *, local_disks: Mapping[str, float], volume_types: Collection[str]) -> str:
    """Return why a measurement (`instance_type`, `quantity`, `volume_type`) does not fit this catalog; '' if it does.

    `local_disks` is the number of local disks of every type (NaN: unknown).
    """
    name, volume = row["instance_type"], row["volume_type"]
    if name not in local_disks:
        return f"{name} is no type of this catalog.{nearest(name, list(local_disks))}"
    if volume and volume not in volume_types:
        names = ", ".join(sorted(volume_types)) or "none"
        return f"{volume} is no volume type of this catalog.{nearest(volume, list(volume_types))} Known: {names}"
    if row["quantity"] in (*MODES, *SMALL_IO) and not volume and local_disks[name] == 0:
        return f"{name} has no local disks; measured volumes are named by type and number: --volume gp3 --count 4"
    return _of_other_disks(row, local_disks[name]) if row["quantity"] in MODES and not volume else ""


def _of_other_disks(row: Mapping[str, Any], local_disks: float) -> str:
    """Return why a rate of some disks, or of more than there are, does not hold for a node; '' if it is of all disks or
    this is unknown.
    """
    disks = row["disks"]
    if disks is None or np.isnan(disks) or np.isnan(local_disks) or disks == local_disks:
        return ""
    return (
        f"{row['instance_type']} has {local_disks:.0f} local disks, and the rate is of {disks:.0f}: measure all of "
        "them together; bench disk takes a --dir for each"
    )


def _misplaced_rows(mine: Table, tables: Mapping[str, Table]) -> Iterator[Problem]:
    instances = tables["instances"]
    local_disks = dict(zip(instances["instance_type"].tolist(), instances["local_disks"].tolist(), strict=True))
    volume_types = set(tables["volumes"]["volume_type"].tolist())
    for row, line in zip(mine.rows(), mine.lines, strict=True):
        if reason := misplaced_reason(row, local_disks=local_disks, volume_types=volume_types):
            yield Problem(path=mine.path, line=line, expected=f"{reason}; correct or remove the row")


def _pool_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each set of circumstances: the mean of its measurements."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        nodes = None if np.isnan(row["nodes"]) else row["nodes"]
        key = (row["instance_type"], nodes, row["placement_group"], row["aggregate"] == "slowest_of_n")
        groups.setdefault(key, []).append(row)
    return [_mean(group) for group in groups.values()]


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
        "low_bytes_per_s": float("nan"),
        "high_bytes_per_s": float("nan"),
        "aggregate": latest["aggregate"] if len({row["aggregate"] for row in rows}) == 1 else "mean",
        **{column.name: _pool_sigmas([row[column.name] for row in rows], weight) for column in VARIATION},
        "instances": instances,
        "repeats": max(1, sum(weight) // instances),
        "note": "; ".join(dict.fromkeys(row["note"] for row in rows if row["note"])),
        "operations_per_s": sum(w * row["operations_per_s"] for w, row in zip(weight, rows, strict=True)) / sum(weight),
        "evidence": "measured",
        "method": "; ".join(dict.fromkeys(row["method"] for row in rows)),
        "source": SOURCE,
    }


def _pool_sigmas(sigmas: list[float], weight: list[float]) -> float:
    """Return the root mean square of the known sigmas by weight; NaN if all are unknown."""
    weighted = [(sigma, w) for sigma, w in zip(sigmas, weight, strict=True) if not np.isnan(sigma)]
    if not weighted:
        return float("nan")
    return float(np.sqrt(np.average([sigma**2 for sigma, _ in weighted], weights=[w for _, w in weighted])))


def _lay_over(
    table: Table, rows: list[dict[str, Any]], circumstances: tuple[str, ...], figures: tuple[str, ...]
) -> Table:
    """Return the table with `rows` added, and each of their figures removed from the rows that agree with them in
    `circumstances`; rows without remaining figures are dropped.
    """
    if not rows:
        return table
    replaced = {(_circumstances(row, circumstances), name) for row in rows for name in figures if row[name] > 0}
    columns = dict(table.columns)
    keys = [_circumstances(row, circumstances) for row in table.rows()]
    for name in figures:
        columns[name] = np.where([(key, name) in replaced for key in keys], np.nan, columns[name])
    remaining = np.flatnonzero(~np.isnan([columns[name] for name in figures]).all(axis=0)).tolist()
    whole = {
        name: np.concatenate([old[remaining], np.array([row[name] for row in rows]).astype(_wide(old))])
        for name, old in columns.items()
    }
    return replace(table, columns=whole, lines=[*(table.lines[n] for n in remaining), *([0] * len(rows))])


def _wide(old: Any) -> Any:
    return np.str_ if old.dtype.kind == "U" else old.dtype


def _circumstances(row: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(None if isinstance(row[n], float) and np.isnan(row[n]) else row[n] for n in names)
