"""Facts that several sources or several types state: sources, and a bare machine and its virtual twin, must agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.catalog.catalog import Catalog
from planner.catalog.network_specs import Disagreement, disagreements
from planner.catalog.plausibility.shapes import MEMORY_STEP
from planner.catalog.plausibility.suspicion import Suspicion
from planner.units import format_rate

if TYPE_CHECKING:
    import pandas as pd

FURTHER: Final = {
    "network_baseline_bytes_per_s": ("network_specs", "baseline_bytes_per_s"),
    "volume_bytes_per_s": ("volume_limits", "volume_bytes_per_s"),
    "volume_iops": ("volume_limits", "volume_iops"),
}
"""Further files for rates that are blank in instances.csv."""
ROUNDED: Final = 0.09
"""Largest relative difference of two statements of one fact: 32 GB in one list are 33 GiB, unrounded, in another."""
OUTVOTED: Final = 1.9
"""Factor from the majority at which a source has another unit, or counts other cards."""


def outvoted_networks(catalog: Catalog) -> Iterator[Suspicion]:
    """Yield the stated networks that are far from what most sources state of the type, and all of a tie."""
    instances, specs = catalog.tables["instances"], catalog.tables["network_specs"]
    for quarrel in disagreements(instances, specs):
        if "+" in quarrel.instance_type:
            continue
        for source, rate in quarrel.stated.items():
            others = [other for other in quarrel.stated.values() if other != rate]
            expected = (
                quarrel.counts_bytes_per_s if quarrel.settled else max(others, key=lambda of: abs(np.log(of / rate)))
            )
            if max(rate / expected, expected / rate) >= (OUTVOTED if quarrel.settled else 1):
                yield _outvoted(catalog, quarrel, source=source, rate=rate, factor=rate / expected)


def _outvoted(catalog: Catalog, quarrel: Disagreement, *, source: str, rate: float, factor: float) -> Suspicion:
    file, column, line = "network_specs", "baseline_bytes_per_s", 0
    for name, stated in (("instances", "network_baseline_bytes_per_s"), ("network_specs", "baseline_bytes_per_s")):
        table = catalog.tables[name]
        here = (table["instance_type"] == quarrel.instance_type) & (table["source"] == source)
        found = np.flatnonzero(here & (table[stated] == rate))
        if len(found) and not line:
            file, column, line = name, stated, table.lines[int(found[0])]
    verdict = f"{factor:.3g} times what counts" if quarrel.settled else "no two sources agree, and none counts"
    others = ", ".join(f"{format_rate(value)} ({key})" for key, value in quarrel.stated.items() if key != source)
    return Suspicion(
        file=file,
        line=line,
        instance_type=quarrel.instance_type,
        column=column,
        value=format_rate(rate),
        reason=f"{verdict}; other sources state {others}{_cards(factor)}",
        factor=factor,
    )


def _cards(factor: float) -> str:
    if np.isclose(factor, 8, rtol=0.03):
        return ": bits read as bytes, or the total of several network cards?"
    return (
        ": the total of several network cards?" if factor > 1 and np.isclose(factor, round(factor), rtol=0.03) else ""
    )


_SHAPE: Final = ("vcpu", "local_disks", "local_disk_bytes", "volume_bytes_per_s", "volume_iops")
"""Facts of instances.csv that network_specs.csv may state as well."""


def outvoted_shapes(catalog: Catalog) -> Iterator[Suspicion]:
    """Yield the cells of instances.csv of which another source states something else: neither value counts."""
    instances, specs = catalog.tables["instances"], catalog.tables["network_specs"]
    places = {name: place for place, name in enumerate(instances["instance_type"].tolist())}
    for column in _SHAPE:
        for at in np.flatnonzero(np.isfinite(specs[column])).tolist():
            name, other = str(specs["instance_type"][at]), float(specs[column][at])
            place = places.get(name)
            value = np.nan if place is None else float(instances[column][place])
            if place is not None and np.isfinite(value) and not agree(value, other):
                source = f"{specs['source'][at]} states {other:.12g} (network_specs.csv:{specs.lines[at]})"
                yield Suspicion(
                    file="instances",
                    line=instances.lines[place],
                    instance_type=name,
                    column=column,
                    value=f"{value:.12g}",
                    reason=f"{instances['source'][place]} states it, {source}: no two sources agree",
                    factor=value / other if other else np.inf,
                )


def stated_disks(catalog: Catalog) -> dict[str, float]:
    """Return the bytes of all local disks of types as further sources state them."""
    specs = catalog.tables["network_specs"]
    totals = zip(specs["instance_type"].tolist(), specs["local_disks"] * specs["local_disk_bytes"], strict=True)
    return {name: float(total) for name, total in totals if np.isfinite(total)}


_TWINS: Final = {
    "memory_bytes": MEMORY_STEP,
    "local_disks": 1.01,
    "local_disk_bytes": 1.01,
    **dict.fromkeys(FURTHER, 1.05),
}
"""Largest ratio of what a bare machine has to its virtual twin's: the hypervisor keeps some memory."""


def unlike_twins(catalog: Catalog, types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield what bare-metal types have and their virtual twins, of the same family and processors, have not."""
    bare = types.instance_type.str.contains(".metal", regex=False)
    twins = types[~bare].drop_duplicates(["family", "vcpu"], keep="last")
    for row in types[bare].merge(twins, on=["family", "vcpu"], suffixes=("", "_twin")).itertuples():
        for column, most in _TWINS.items():
            value, other = getattr(row, column), getattr(row, f"{column}_twin")
            factor = value / other if other else np.nan
            if max(factor, 1 / factor if factor else np.inf) > most:
                file, cell = FURTHER.get(column, ("instances", column))
                yield Suspicion(
                    **cell_of_rate(catalog, row, column, file=file, column=cell, value=value),
                    value=f"{value:.12g}",
                    reason=f"{factor:.3g} times what {row.instance_type_twin} has, the same machine rented virtually",
                    factor=factor,
                )


def agree(value: float, other: float | None) -> bool:
    return other is not None and bool(np.isclose(value, other, rtol=ROUNDED, atol=0))


def cell_of_rate(catalog: Catalog, row: Any, rate: str, *, file: str, column: str, value: float) -> dict[str, Any]:
    """Return the cell that states a type's rate: that of instances.csv, or the further file's if that is blank."""
    table, further = catalog.tables["instances"], catalog.tables[file]
    index = int(np.flatnonzero(table["instance_type"] == row.instance_type)[0])
    if not np.isnan(table[rate][index]):
        return {"file": "instances", "line": row.line, "instance_type": row.instance_type, "column": rate}
    found = np.flatnonzero((further["instance_type"] == row.instance_type) & (further[column] == value))
    line = further.lines[int(found[0])] if len(found) else 0
    return {"file": file, "line": line, "instance_type": row.instance_type, "column": column}
