"""Rates that contradict the sizes of a family: a larger size that is slower, or faster than its size explains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.arrays import Floats
from planner.catalog.catalog import Catalog
from planner.catalog.columns import DERIVED_SOURCE
from planner.catalog.plausibility.shapes import groups_of, most_common, rows_at
from planner.catalog.plausibility.suspicion import Suspicion
from planner.catalog.tables import Table
from planner.units import format_rate

if TYPE_CHECKING:
    import pandas as pd

SLACK: Final = 0.05
"""Largest difference between rounded rates of one size."""
DISK_SLACK: Final = 0.2
"""Largest difference between measured disks of one size."""
SLOW_DISKS: Final = 0.75
FAST_DISKS: Final = 2.0
"""Largest ratio between the rates of one disk and of equal disks in other sizes of the family: disks of Azure's L
series were measured 1.4 times as fast in one size as in another.
"""
MOST_GROWTH: Final = 2.6
"""Largest ratio of a larger size's rate to one in proportion to its size: n1-standard-2 has 5 times the network of
n1-standard-1.
"""
_FURTHER: Final = {
    "network_baseline_bytes_per_s": ("network_specs", "baseline_bytes_per_s"),
    "volume_bytes_per_s": ("volume_limits", "volume_bytes_per_s"),
    "volume_iops": ("volume_limits", "volume_iops"),
}
"""Further files for rates that are blank in instances.csv."""
_PAIRS: Final = {
    "instances": (
        ("network_baseline_bytes_per_s", "network_peak_bytes_per_s"),
        ("volume_bytes_per_s", "volume_peak_bytes_per_s"),
    ),
    "network_specs": (("baseline_bytes_per_s", "peak_bytes_per_s"),),
    "volume_limits": (("volume_bytes_per_s", "volume_peak_bytes_per_s"),),
}


def implausible_rates(catalog: Catalog, types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the doubted rates of networks, volumes and local disks; `types` is that of `shapes`."""
    sized = types[types.by_vcpu]
    for rate, (file, column) in _FURTHER.items():
        known = sized[sized[rate].notna()]
        for row, expected, reason in _off_sizes(known.assign(rate=known[rate], size=known.machine_vcpu), slack=SLACK):
            place = _cell_of_rate(catalog, row, rate, file=file, column=column)
            yield Suspicion(**place, value=_shown(rate, row.rate), reason=reason, factor=row.rate / expected)
    yield from _disk_rates(catalog, types)
    for file, pairs in _PAIRS.items():
        for pair in pairs:
            yield from _above_peak(catalog.tables[file], *pair)


def _off_sizes(rated: pd.DataFrame, *, slack: float) -> Iterator[tuple[Any, float, str]]:
    """Yield the rows out of order, the rate of the nearest size in order, and a description."""
    ordered = rated.sort_values("size", kind="stable").reset_index(drop=True)
    rates, sizes = ordered["rate"].to_numpy(), ordered["size"].to_numpy()
    for rows in groups_of(ordered["shape"]):
        kept = rows[_in_order(rates[rows], sizes=sizes[rows], slack=slack)]
        odd = np.setdiff1d(rows, kept)
        for row in rows_at(ordered, odd):
            near = next(ordered.iloc[[kept[np.abs(kept - row.Index).argmin()]]].itertuples())
            yield row, float(near.rate), _order_text(row, near)


def _in_order(rates: Floats, *, sizes: Floats, slack: float) -> Any:
    """Return the positions of the longest subsequence in which no larger size is slower, nor much faster than its size
    explains; of two, the one that begins with smaller sizes.
    """
    length, before = np.ones(len(rates), int), np.full(len(rates), -1)
    for here in range(len(rates)):
        earlier = np.arange(here)
        growth, room = rates[here] / rates[:here], sizes[here] / sizes[:here]
        fits = earlier[(growth >= 1 - slack) & (growth <= MOST_GROWTH * room)]
        if len(fits):
            best = fits[length[fits].argmax()]
            length[here], before[here] = length[best] + 1, best
    chain = [int(length.argmax())]
    while before[chain[-1]] >= 0:
        chain.append(int(before[chain[-1]]))
    return np.array(chain[::-1])


def _order_text(row: Any, near: Any) -> str:
    larger, slower = row.size > near.size, row.rate < near.rate
    if larger == slower:
        return (
            f"{'slower' if slower else 'faster'} than {near.instance_type}, a {'smaller' if larger else 'larger'} size"
        )
    times, size = row.rate / near.rate, row.size / near.size
    return f"{times:.3g} times the rate of {near.instance_type}, which is {1 / size:.3g} times as large"


def _cell_of_rate(catalog: Catalog, row: Any, rate: str, *, file: str, column: str) -> dict[str, Any]:
    """Return the cell that states a type's rate: that of instances.csv, or the further file's if that is blank."""
    table, further = catalog.tables["instances"], catalog.tables[file]
    index = int(np.flatnonzero(table["instance_type"] == row.instance_type)[0])
    if not np.isnan(table[rate][index]):
        return {"file": "instances", "line": row.line, "instance_type": row.instance_type, "column": rate}
    found = np.flatnonzero((further["instance_type"] == row.instance_type) & (further[column] == row.rate))
    line = further.lines[int(found[0])] if len(found) else 0
    return {"file": file, "line": line, "instance_type": row.instance_type, "column": column}


def _disk_rates(catalog: Catalog, types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the doubted disk rates: more local disk of one family is at least as fast in each mode, equal disks equally
    fast.

    The user's own measurements, which have no line in the file, and computed rates are not doubted.
    """
    import pandas as pd

    table = catalog.tables["disks"]
    names = ("instance_type", "mode", "aggregate", "source", "bytes_per_s", "operations_per_s")
    rows = pd.DataFrame({name: table[name] for name in names}).assign(disk_line=list(table.lines))
    known = rows.merge(types, on="instance_type")
    known = known[(known.local_disks > 0) & (known.disk_line > 0)]
    kind = known.family + "/" + known["mode"] + "/" + known["aggregate"]
    known = known.assign(shape=kind, size=known.local_disks * known.local_disk_bytes)
    for column in ("bytes_per_s", "operations_per_s"):
        stated = known[known[column].notna()]
        stated = stated.assign(rate=stated[column])
        odd = (*_off_sizes(stated, slack=DISK_SLACK), *_unequal_disks(stated))
        for row, expected, reason in (found for found in odd if found[0].source != DERIVED_SOURCE):
            yield Suspicion(
                file="disks",
                line=row.disk_line,
                instance_type=row.instance_type,
                column=column,
                value=_shown(column, row.rate),
                reason=f"{row.mode}: {reason}",
                factor=row.rate / expected,
            )


def _unequal_disks(stated: pd.DataFrame) -> Iterator[tuple[Any, float, str]]:
    """Yield the rows whose rate per disk is far from that of equal disks, the rate at theirs, and a description."""
    per_disk = (stated["rate"] / stated.local_disks).to_numpy()
    for rows in groups_of(stated["shape"] + "/" + stated.local_disk_bytes.astype(str)):
        usual = most_common(per_disk[rows], within=1 + DISK_SLACK)
        odd = rows[(per_disk[rows] < usual * SLOW_DISKS) | (per_disk[rows] > usual * FAST_DISKS)]
        for row in rows_at(stated, odd if len(rows) > 2 else odd[:0]):
            expected = usual * row.local_disks
            yield row, expected, f"{row.rate / expected:.3g} times what as many equal disks do in other sizes"


def _above_peak(table: Table, baseline: str, peak: str) -> Iterator[Suspicion]:
    with np.errstate(invalid="ignore"):
        above = np.flatnonzero(table[baseline] > table[peak] * (1 + SLACK))
    for row in above.tolist():
        yield Suspicion(
            file=table.schema.name,
            line=table.lines[row],
            instance_type=str(table["instance_type"][row]),
            column=baseline,
            value=format_rate(table[baseline][row]),
            reason=f"above what the vendor advertises, {format_rate(table[peak][row])} ({peak})",
            factor=float(table[baseline][row] / table[peak][row]),
        )


def _shown(rate: str, value: float) -> str:
    return format_rate(value) if rate.endswith("bytes_per_s") else f"{value:.0f}"
