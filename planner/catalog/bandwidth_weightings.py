"""Types at a bandwidth weighting: on request at launch, EC2 moves a quarter of one baseline between network and
volumes.

`m8g.xlarge+vpc-1` is m8g.xlarge with more network, planned as a separate type; `instances.cloud_type` is the type to
order. Its bursts are unknown, as no source states them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from planner.catalog.instances import Instances, split_weighting
from planner.catalog.tables import Table

_AS_ANY_WEIGHTING: Final = (
    "instances",
    "prices",
    "disks",
    "small_io",
    "sort_rates",
    "compute",
    "surcharges",
    "burstable",
)
"""Tables of facts that are independent of the weighting."""


def with_weighted_types(tables: Mapping[str, Table], *, keep: Collection[str]) -> Mapping[str, Table]:
    """Return a catalog's tables with an additional type for each weighting, except for types in `keep`: measurements at
    one weighting do not hold for another.
    """
    listed = tables["bandwidth_weightings"]
    shapes = set(tables["instances"]["instance_type"].tolist()) - set(keep)
    pairs = zip(listed["instance_type"].tolist(), listed["weighting"].tolist(), strict=True)
    weightings: dict[str, list[str]] = {}
    for name, weighting in pairs:
        if name in shapes:
            weightings.setdefault(name, []).append(weighting)
    if not weightings:
        return tables
    return {**tables, **{name: _with_copies(tables[name], weightings) for name in _AS_ANY_WEIGHTING}}


def _with_copies(table: Table, weightings: Mapping[str, list[str]]) -> Table:
    """Return the table with each row of a type repeated for each of its weightings."""
    names = table["instance_type"].tolist()
    copies = [(row, f"{name}+{weighting}") for row, name in enumerate(names) for weighting in weightings.get(name, ())]
    if not copies:
        return table
    rows = np.concatenate([np.arange(len(names)), np.array([row for row, _ in copies], dtype=np.intp)])
    columns = {name: column[rows] for name, column in table.columns.items()}
    columns["instance_type"] = np.array([*names, *(name for _, name in copies)], dtype=np.str_)
    return replace(table, columns=columns, lines=[*table.lines, *([0] * len(copies))])


def at_their_weightings(instances: Instances, weightings: Table) -> Instances:
    """Return the instances with the rates of their weightings, for names that have one."""
    pairs = zip(weightings["instance_type"].tolist(), weightings["weighting"].tolist(), strict=True)
    row_of = {pair: row for row, pair in enumerate(pairs)}
    at = [(row, row_of[pair]) for row, name in enumerate(instances.names) if (pair := split_weighting(name))[1]]
    if not at:
        return instances
    rows, listed = (np.array(part, dtype=np.intp) for part in zip(*at, strict=True))
    network, volumes, network_peak, volume_peak = (
        column.copy()
        for column in (
            instances.network_baseline_bytes_per_s,
            instances.volume_bytes_per_s,
            instances.network_peak_bytes_per_s,
            instances.volume_peak_bytes_per_s,
        )
    )
    network[rows] = weightings["network_baseline_bytes_per_s"][listed]
    volumes[rows] = weightings["volume_bytes_per_s"][listed]
    network_peak[rows], volume_peak[rows] = np.nan, np.nan
    return replace(
        instances,
        network_baseline_bytes_per_s=network,
        volume_bytes_per_s=volumes,
        network_peak_bytes_per_s=network_peak,
        volume_peak_bytes_per_s=volume_peak,
    )
