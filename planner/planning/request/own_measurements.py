"""Which of the user's own measurements a recommended cluster's type has: a plan that may rest on them says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from planner.catalog import Catalog
from planner.catalog.measurements import SOURCE
from planner.catalog.tables import Table
from planner.schemas.plan import Candidate

_WHAT = {"disks": "disks", "networks": "network", "small_io": "small operations", "sort_rates": "sorting in memory"}


def own_measurements(best: Candidate, catalogs: Sequence[Catalog]) -> Iterator[str]:
    """Yield a sentence that names what the user measured of a cluster's type, and when; none without any."""
    for catalog in catalogs:
        tables = ((_WHAT.get(name, name.replace("_", " ")), table) for name, table in catalog.tables.items())
        if catalog.cloud == best.cloud and (
            parts := [part for what, table in tables for part in _of(what, table, best)]
        ):
            yield (
                f"your own measurements of {best.instance_type} count: {', '.join(dict.fromkeys(parts))}; "
                f"planner catalog measurements --catalog {catalog.name} lists them"
            )


def _of(what: str, table: Table, best: Candidate) -> Iterator[str]:
    if not {"instance_type", "source"} <= table.columns.keys():
        return
    of_type = np.isin(table["instance_type"], [best.instance_type, best.cloud_type])
    for row in table.rows(np.flatnonzero(of_type & (table["source"] == SOURCE)).tolist()):
        how = " ".join(str(row[name]).replace("_", " ") for name in ("mode", "operation") if row.get(name))
        yield f"{what} {how} ({row['as_of']})" if how else f"{what} ({row['as_of']})"
