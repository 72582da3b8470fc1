"""What a cloud charges for data that another cloud's nodes read or write: from the catalog that ships for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from planner.catalog.schema import OBJECT_STORES, TRANSFERS
from planner.catalog.tables import Schema, Table, read_table
from planner.config.paths import catalogs_directory


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """US dollars for a GiB that leaves the cloud, with what that rests on, and for each request to its object store.

    What is unknown is NaN.
    """

    leaving_usd_per_gib: float = math.nan
    leaving_evidence: str = ""
    read_usd_per_request: float = math.nan
    write_usd_per_request: float = math.nan


@lru_cache
def elsewhere(cloud: str) -> Elsewhere:
    """Return what is known of a cloud. Raises BadInputError where a file of its catalog is damaged."""
    transfers, stores = _table(cloud, TRANSFERS), _table(cloud, OBJECT_STORES)
    leaving = [] if transfers is None else [row for row in transfers.rows() if row["transfer"] == "internet"]
    store = [] if stores is None else list(stores.rows())
    price, asked = (rows[0] if rows else {} for rows in (leaving, store))
    return Elsewhere(
        leaving_usd_per_gib=float(price.get("price_usd_per_gib", math.nan)),
        leaving_evidence=str(price.get("evidence", "")),
        read_usd_per_request=float(asked.get("read_usd_per_request", math.nan)),
        write_usd_per_request=float(asked.get("write_usd_per_request", math.nan)),
    )


def _table(cloud: str, schema: Schema) -> Table | None:
    path = catalogs_directory() / cloud / f"{schema.name}.csv"
    return read_table(path, schema) if path.exists() else None
