"""Rates of unmeasured local disks, computed from those of similar disks.

A cloud states the operations per second of a type's disks, and disks of one make move about as many bytes per stated
operation regardless of size: 4.7-5.3 KB written on all of EC2's `d` types. So a rate is the type's stated operations,
times the bytes per operation of the most similar measured disks: of its generation, else of its line of processors.
Disks without stated operations scale with their number, within their generation. If a cloud states only reading,
writing is its value for the same disks elsewhere.

The errors of the rates are found by leaving out known ones, a type or a generation at a time (`leave_out`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from planner.arrays import Array, Flags, Floats, Rows
from planner.catalog.catalog import Catalog
from planner.catalog.columns import DERIVED_SOURCE, EVIDENCE

MODES: Final = {"read": "read_only", "write": "write_only"}

_CAPACITY_WEIGHT: Final = 0.1
_NUMBER_WEIGHT: Final = 0.05
_DENSITY_WEIGHT: Final = 0.25
_OTHER_MAKE: Final = 1.0
_OTHER_LINE: Final = 2.0
_OTHER_GENERATION: Final = 10.0
"""Weights of distances; disks of another generation rank after all of the same one, led by the same line of processors
and then the same make.
"""

ONE_MAKE_WITHIN: Final = 0.03
"""Largest difference in stated values at which disks of another generation count as the same make."""

_NEXT_TO_NEAREST: Final = 0.05
"""Distance beyond the nearest within which further disks count as well."""


@dataclass(frozen=True, kw_only=True)
class Derived:
    """A rate in bytes/s, its basis, the type with the most similar disks, and the evidence.

    Basis: stated operations and disks of one generation (`near`) or another (`far`), the `number` of disks, or a
    `twin`: the same disks as stated in the other mode.
    """

    bytes_per_s: float
    basis: str
    like: str
    evidence: str


def disk_table(catalog: Catalog) -> pd.DataFrame:
    """Return a row for each type with local disks: their stated values, and their known rates.

    Index: the type. Columns: family, generation, line, kind, disks, disk_bytes; for `read` and `write`: operations
    stated per second, bytes/s and the evidence of both, NaN or '' if unknown. Rates computed here are excluded. Disks
    bought with an instance have one row for each number with rates.
    """
    shapes = catalog.tables["instances"]
    table = pd.DataFrame(
        {
            "family": shapes["family"],
            "generation": [generation_of(str(name)) for name in shapes["family"]],
            "line": [line_of(str(name)) for name in shapes["family"]],
            "kind": shapes["local_disk_kind"],
            "disks": shapes["local_disks"],
            "disk_bytes": shapes["local_disk_bytes"],
        },
        index=pd.Index(shapes["instance_type"], name="instance_type"),
    )
    table = table[(table["disks"] > 0) & table["disk_bytes"].notna()]
    table = table.astype({"disks": float, "disk_bytes": float})
    stated = _frame(catalog, "disk_specs").set_index("instance_type")
    for mode in MODES:
        table[f"{mode}_operations"] = stated[f"{mode}_operations_per_s"].reindex(table.index)
        table[f"{mode}_rate"] = _known(catalog, mode)["bytes_per_s"].reindex(table.index)
        table[f"{mode}_evidence"] = _known(catalog, mode)["evidence"].reindex(table.index).fillna("")
    bought = table.index.str.contains("+", regex=False)
    for mode in MODES:
        twins = _operations_of_twins(table[~bought], mode)
        table[f"{mode}_operations"] = table[f"{mode}_operations"].fillna(twins)
    repeated = table.duplicated(["disks", "disk_bytes", "read_rate", "write_rate"])
    return table[~(bought & (repeated | table["read_rate"].isna()))]


def _frame(catalog: Catalog, name: str) -> pd.DataFrame:
    return pd.DataFrame(dict(catalog.tables[name].columns))


def _known(catalog: Catalog, mode: str) -> pd.DataFrame:
    """Return the strongest known rate of each type in a mode, and its evidence."""
    rows = _frame(catalog, "disks")
    rows = rows[
        (rows["mode"] == MODES[mode]) & (rows["source"] != DERIVED_SOURCE) & (rows["aggregate"] != "slowest_of_n")
    ]
    rows = rows.assign(weakness=[EVIDENCE.index(word) for word in rows["evidence"]]).sort_values(
        "weakness", kind="stable"
    )
    return rows.drop_duplicates("instance_type").set_index("instance_type")


def generation_of(family: str) -> str:
    """Return the common part of the names of families with disks of one make: without the letters for memory and
    network, on EC2 where a `d` after the number means disks. The letters of storage families mean their disks, and
    stay.
    """
    if match := re.fullmatch(r"(?:VM|BM)\.([A-Za-z]+\.E?\d+)(?:\.\d+)?", family):
        return match[1]
    match = re.fullmatch(r"(?:hpc|[cmrxz])(\d\w*?d)\w*", family)
    return match[1] if match else family


def line_of(family: str) -> str:
    """Return the maker of the processors beside disks that come with them, `g`, `a` or `i`, and '' of other families.

    Disks with the same stated operations move more bytes beside EC2's own processors (6gd: 5.9 KB) than beside Intel's
    (6id: 4.7 KB).
    """
    match = re.fullmatch(r"[cmrxz]\d([a-z]?)d\w*", family)
    return (match[1] or "i") if match else ""


def _operations_of_twins(table: pd.DataFrame, mode: str) -> pd.Series:
    """Return the operations of types without stated ones, from the same disks in their generation."""
    each = table[f"{mode}_operations"] / table["disks"]
    return each.groupby([table["generation"], table["disk_bytes"]]).transform("median") * table["disks"]


def distances(table: pd.DataFrame) -> Floats:
    """Return the distance between the disks of each two types, (T, T): NaN where operations of either are not stated.

    It is the distance of their makes, plus weighted natural logarithms of the ratios of capacity and number of disks.
    """
    sizes = _CAPACITY_WEIGHT * _log_ratios(table["disk_bytes"]) + _NUMBER_WEIGHT * _log_ratios(table["disks"])
    return _make_distances(table) + sizes


def _make_distances(table: pd.DataFrame) -> Floats:
    """Return the logarithms of the ratios of writes over reads as stated and, by weight, of reads per byte, (T, T)."""
    reads, writes = table["read_operations"], table["write_operations"]
    density = reads / (table["disk_bytes"] * table["disks"])
    return _log_ratios(writes / reads) + _DENSITY_WEIGHT * _log_ratios(density)


def _log_ratios(figures: pd.Series) -> Floats:
    logarithms = np.log(figures.to_numpy(float))
    return np.asarray(np.abs(logarithms[:, None] - logarithms))


def derive_all(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rates of every type and mode without a known one: instance_type, mode and the fields of Derived."""
    wanted = {mode: np.flatnonzero(table[f"{mode}_rate"].isna()) for mode in MODES}
    return _derived(table, wanted, usable=np.ones((len(table), len(table)), bool))


def leave_out(table: pd.DataFrame, *, by: str) -> pd.DataFrame:
    """Return each known rate with the rate derived without all types of its `by`.

    `by` is `instance_type` (the type alone), `family`, `generation`, or `make`: all types with disks of one make, in
    any family. Rates from memory are not compared. Columns: as `derive_all`, and observed_bytes_per_s.
    """
    names = table.index.to_numpy() if by == "instance_type" else table["generation" if by == "make" else by].to_numpy()
    usable = names[:, None] != names
    if by == "make":
        usable &= ~(_make_distances(table) <= ONE_MAKE_WITHIN)
    wanted = {
        mode: np.flatnonzero(table[f"{mode}_rate"].notna() & (table[f"{mode}_evidence"] != "recalled"))
        for mode in MODES
    }
    found = _derived(table, wanted, usable=usable)
    places = zip(found["instance_type"], found["mode"], strict=True)
    observed = np.array([table.at[name, f"{mode}_rate"] for name, mode in places], float)
    return found.assign(observed_bytes_per_s=observed).astype({"bytes_per_s": float})


def _derived(table: pd.DataFrame, wanted: Mapping[str, Rows], *, usable: Flags) -> pd.DataFrame:
    """Return the result of the first applicable rule for the rows `wanted` in each mode, from the types that each row
    may use, (T, T).
    """
    columns = {name: column.to_numpy() for name, column in table.reset_index().items()}
    stranger = columns["generation"][:, None] != columns["generation"]
    other_make = stranger & ~(_make_distances(table) <= ONE_MAKE_WITHIN)
    lines = columns["line"]
    other_line = stranger & (lines[:, None] != lines) & (lines[:, None] != "")
    apart = distances(table) + _OTHER_GENERATION * stranger + _OTHER_LINE * other_line + _OTHER_MAKE * other_make
    rows = []
    for mode, targets in wanted.items():
        known = ~np.isnan(columns[f"{mode}_rate"])
        for target in targets.tolist():
            peers = usable[target] & known
            peers[target] = False
            found = (
                _by_operations(
                    columns, target, mode, apart=np.where(peers, apart[target], np.nan), other=stranger[target]
                )
                or _by_number(columns, target, mode, peers=peers)
                or _by_twin(columns, target, mode, peers=peers)
            )
            if found is not None:
                rows.append({"instance_type": table.index[target], "mode": mode, **vars(found)})
    return pd.DataFrame(rows, columns=["instance_type", "mode", "bytes_per_s", "basis", "like", "evidence"])


Columns = Mapping[str, Array]
"""The columns of the table, each (T,)."""


def _by_operations(columns: Columns, target: int, mode: str, *, apart: Floats, other: Flags) -> Derived | None:
    """Return stated operations times the bytes per operation of the most similar disks; `other` marks those of another
    generation.
    """
    if np.isnan(apart).all():
        return None
    least, operations = float(np.nanmin(apart)), columns[f"{mode}_operations"]
    nearest = np.flatnonzero(apart <= least + _NEXT_TO_NEAREST)
    bytes_each = float(np.median(columns[f"{mode}_rate"][nearest] / operations[nearest]))
    return Derived(
        bytes_per_s=bytes_each * float(operations[target]),
        basis="far" if other[int(np.nanargmin(apart))] else "near",
        like=str(columns["instance_type"][int(np.nanargmin(apart))]),
        evidence=_evidence(columns[f"{mode}_evidence"][nearest]),
    )


def _by_number(columns: Columns, target: int, mode: str, *, peers: Flags) -> Derived | None:
    """Return the rate of one disk of the generation, of the same capacity and kind, times the number of disks."""
    same = (
        _equal(columns, "generation", target) & _equal(columns, "kind", target) & _close(columns, "disk_bytes", target)
    )
    rows, disks = np.flatnonzero(peers & same), columns["disks"]
    if not len(rows):
        return None
    nearest = rows[np.abs(np.log(disks[rows] / disks[target])).argmin()]
    return Derived(
        bytes_per_s=float(columns[f"{mode}_rate"][nearest] / disks[nearest] * disks[target]),
        basis="number",
        like=str(columns["instance_type"][nearest]),
        evidence=_evidence(columns[f"{mode}_evidence"][[nearest]]),
    )


def _by_twin(columns: Columns, target: int, mode: str, *, peers: Flags) -> Derived | None:
    """Return the cloud's stated value for as many disks of the same capacity that are as fast in the other mode."""
    other = next(name for name in MODES if name != mode)
    both = peers & (columns[f"{mode}_evidence"] == "spec") & (columns[f"{other}_evidence"] == "spec")
    same = both & _equal(columns, "kind", target) & _equal(columns, "disks", target)
    rows = np.flatnonzero(same & _close(columns, "disk_bytes", target) & _close(columns, f"{other}_rate", target))
    if not len(rows) or columns[f"{other}_evidence"][target] != "spec":
        return None
    return Derived(
        bytes_per_s=float(np.median(columns[f"{mode}_rate"][rows])),
        basis="twin",
        like=str(columns["instance_type"][rows[0]]),
        evidence="derived",
    )


def _equal(columns: Columns, name: str, target: int) -> Flags:
    return np.asarray(columns[name] == columns[name][target])


def _close(columns: Columns, name: str, target: int) -> Flags:
    return np.asarray(np.isclose(columns[name], columns[name][target], rtol=0.01))


def _evidence(words: Array) -> str:
    """Return the evidence of a computed rate: no stronger than that of its inputs."""
    weaknesses = [EVIDENCE.index("derived" if word == "spec" else word) for word in words]
    return EVIDENCE[max(EVIDENCE.index("derived"), *weaknesses)]


_LEFT_OUT: Final = {
    "near": ("instance_type", "family"),
    "far": ("generation", "make"),
    "number": ("instance_type",),
    "twin": ("family",),
}
"""Types left out to find the error of a basis: as much as is missing where it is used."""

_LEAST_SPREAD: Final = 0.025
"""Least spread of a range: two measurements of i3.metal, i3en.3xlarge and im4gn.4xlarge differed by up to 2.3%."""

_BEYOND: Final = 0.025
"""Share of the known rates beyond either end of a range that is to hold 90% of the unknown ones: errors within one make
are correlated, so that the few hundred known rates are worth about a dozen.
"""

Tables = Mapping[str, pd.DataFrame]
"""Results of `disk_table`, by cloud."""


def factors(tables: Tables) -> pd.DataFrame:
    """Return the ratio of each known rate to the one derived with something left out.

    Columns: left_out, cloud, family, generation, mode, basis, factor (observed over derived).
    """
    found = []
    for cloud, table in tables.items():
        for by in ("instance_type", "family", "generation", "make"):
            rates = leave_out(table, by=by)
            of = table[["family", "generation"]].reindex(rates["instance_type"]).set_index(rates.index)
            factor = rates["observed_bytes_per_s"] / rates["bytes_per_s"]
            found.append(rates[["mode", "basis"]].join(of).assign(left_out=by, cloud=cloud, factor=factor))
    return pd.concat(found, ignore_index=True)


def ranges(missed: pd.DataFrame) -> pd.DataFrame:
    """Return, by basis, the factors of a derived rate between which 90% of rates lie: low and high.

    All clouds count together, and all generations equally, however many types they have. Of twins only writing counts:
    clouds that state one mode state reading. No range is narrower than the difference between two measurements of a
    type.
    """
    comparable = np.array(
        [out in _LEFT_OUT[basis] for out, basis in zip(missed["left_out"], missed["basis"], strict=True)]
    )
    comparable &= (missed["mode"] == "write") | (missed["basis"] != "twin")
    edges = {basis: _edges(rates) for basis, rates in missed[comparable].groupby("basis")}
    return pd.DataFrame.from_dict(edges, orient="index", columns=["low", "high"], dtype=float)


def _edges(rates: pd.DataFrame) -> tuple[float, float]:
    weights = 1 / rates.groupby("generation")["factor"].transform("size")
    low, high = np.quantile(rates["factor"], (_BEYOND, 1 - _BEYOND), weights=weights, method="inverted_cdf")
    return min(float(low), 1 - _LEAST_SPREAD), max(float(high), 1 + _LEAST_SPREAD)


def accuracy(missed: pd.DataFrame) -> pd.DataFrame:
    """Return the errors of derived rates, by what was left out, cloud and basis.

    `in_range` is the share within the range, which is found for each family without its own rates.
    """
    inside = pd.Series(False, missed.index)
    for name, own in missed.groupby("family"):
        edges = ranges(missed[missed["family"] != name]).reindex(own["basis"])
        inside[own.index] = (own["factor"].to_numpy() >= edges["low"]) & (own["factor"].to_numpy() <= edges["high"])
    figures = missed.assign(error=(1 / missed["factor"] - 1).abs(), inside=inside)
    return figures.groupby(["left_out", "cloud", "basis"]).agg(
        rates=("error", "size"), median_error=("error", "median"), in_range=("inside", "mean")
    )
