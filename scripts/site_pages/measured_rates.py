"""Section of data-sources.md: the measured rates of each catalog, by whom and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from planner.catalog import Catalog, catalog_names, load_catalog
from planner.catalog.tables import Table

KINDS: Final = {
    "disks": "local disks",
    "networks": "network",
    "token_buckets": "token buckets of the network",
    "volume_rates": "block volumes",
    "object_store_rates": "object stores",
    "compute": "arithmetic",
    "sort_rates": "sorting in memory",
    "stragglers": "slow nodes",
}
"""Names of the tables of rates that can be measured."""

HEAD = """# Measured rates

The tables are made from the catalogs when the site is built. Nobody measured most types of the catalogs: their rates
are the cloud's figures, and a plan says so. The tables list measured rates, and those derived from measurements.

| catalog | types | with local disks | of these, disks measured | network measured |
|---|--:|--:|--:|--:|
"""

OWN = """
## Your own

`planner catalog check NAME` says which types to measure next, with the commands and the price. `planner bench fleet`
rents such nodes, measures and ingests; `planner ingest` takes the files of other tools. Your rates override
the shipped ones, and `planner catalog measurements` lists them.
"""


def page() -> str:
    """Return the page: a row for each catalog, then who measured which rates."""
    catalogs = [load_catalog(name) for name in catalog_names()]
    return HEAD + "\n".join(map(shares, catalogs)) + "\n" + "".join(map(section, catalogs)) + OWN


def shares(catalog: Catalog) -> str:
    """Return how many types of a catalog have a measured rate."""
    has_disks = catalog.instances.local_disks > 0
    disks = measured_types(catalog.tables["disks"]) & set(catalog.instances.instance_type[has_disks].tolist())
    networks = measured_types(catalog.tables["networks"])
    return f"| `{catalog.name}` | {len(catalog.instances):,} | {has_disks.sum():,} | {len(disks)} | {len(networks)} |"


def measured_types(table: Table) -> set[str]:
    return set(table["instance_type"][table["evidence"] == "measured"].tolist())


def section(catalog: Catalog) -> str:
    """Return a table of who measured which rates of a catalog, or a sentence if nobody did."""
    rows = [row for kind in KINDS for row in measured(catalog, kind)]
    head = f"\n## {catalog.name}: {catalog.title}\n\n"
    if not rows:
        return head + "Nothing was measured.\n"
    columns = "| what | evidence | types | rows | source | date |\n|---|---|--:|--:|---|---|\n"
    return head + columns + "\n".join(rows) + "\n"


def measured(catalog: Catalog, kind: str) -> Iterator[str]:
    """Yield a row of the page for each source of the measured and the derived rows of one table."""
    table = catalog.tables[kind]
    for evidence, source in sorted(set(zip(table["evidence"].tolist(), table["source"].tolist(), strict=True))):
        if evidence not in ("measured", "derived"):
            continue
        chosen = (table["source"] == source) & (table["evidence"] == evidence)
        types = len(set(table["instance_type"][chosen].tolist()))
        days = sorted({str(np.datetime64(day, "D")) for day in table["as_of"][chosen]})
        title = catalog.sources[source].title.replace("|", "\\|")
        when = " to ".join(dict.fromkeys((days[0], days[-1])))
        yield f"| {KINDS[kind]} | {evidence} | {types} | {chosen.sum()} | {title} | {when} |"
