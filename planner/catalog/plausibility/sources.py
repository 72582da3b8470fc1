"""Cells that contradict other sources: outvoted networks, and generations that differ from the vendor's list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from planner.catalog.catalog import Catalog
from planner.catalog.network_specs import Disagreement, disagreements
from planner.catalog.plausibility.suspicion import Suspicion
from planner.units import format_rate

if TYPE_CHECKING:
    import pandas as pd

OUTVOTED: Final = 1.9
"""Factor from the majority at which a source has another unit, or counts other cards."""
UNSETTLED: Final = 3.9
"""The same factor if there are only two sources: one of them is wrong."""


def outvoted_networks(catalog: Catalog) -> Iterator[Suspicion]:
    """Yield the stated networks that are far from the chosen one of the type; smaller differences are not errors."""
    instances, specs = catalog.tables["instances"], catalog.tables["network_specs"]
    for quarrel in disagreements(instances, specs):
        if "+" in quarrel.instance_type:
            continue
        threshold = OUTVOTED if quarrel.settled else UNSETTLED
        for source, rate in quarrel.stated.items():
            factor = rate / quarrel.counts_bytes_per_s
            if max(factor, 1 / factor) >= threshold:
                yield _outvoted(catalog, quarrel, source=source, rate=rate)


def _outvoted(catalog: Catalog, quarrel: Disagreement, *, source: str, rate: float) -> Suspicion:
    file, column, line = "network_specs", "baseline_bytes_per_s", 0
    for name, stated in (("instances", "network_baseline_bytes_per_s"), ("network_specs", "baseline_bytes_per_s")):
        table = catalog.tables[name]
        here = (table["instance_type"] == quarrel.instance_type) & (table["source"] == source)
        found = np.flatnonzero(here & (table[stated] == rate))
        if len(found) and not line:
            file, column, line = name, stated, table.lines[int(found[0])]
    factor = rate / quarrel.counts_bytes_per_s
    others = ", ".join(f"{format_rate(value)} ({key})" for key, value in quarrel.stated.items() if key != source)
    return Suspicion(
        file=file,
        line=line,
        instance_type=quarrel.instance_type,
        column=column,
        value=format_rate(rate),
        reason=f"{factor:.3g} times what counts; other sources state {others}{_cards(factor)}",
        factor=factor,
    )


def _cards(factor: float) -> str:
    if np.isclose(factor, 8, rtol=0.03):
        return ": bits read as bytes, or the total of several network cards?"
    return (
        ": the total of several network cards?" if factor > 1 and np.isclose(factor, round(factor), rtol=0.03) else ""
    )


def wrong_generations(catalog: Catalog, types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the types whose current_generation differs from the vendor's list; none without a list."""
    listed = set(catalog.tables["previous_generations"]["family"].tolist())
    if not listed:
        return
    for row in types[types.previous != types.family.isin(listed)].itertuples():
        text = "is on" if row.family in listed else "is not on"
        yield Suspicion(
            file="instances",
            line=row.line,
            instance_type=row.instance_type,
            column="current_generation",
            value="no" if row.previous else "yes",
            reason=f"family {row.family} {text} the vendor's list of previous generations (previous_generations.csv)",
            advice="correct the cell, or the list with its source and day",
        )
